package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Store;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.base.Io;
import dev.cinch.cli.base.JsonOption;
import dev.cinch.cli.base.LogsOption;
import dev.cinch.cli.base.Output;
import dev.cinch.cli.base.Stop;
import dev.cinch.lease.time.SystemTime;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A log that fails slowly takes a tenth of a closer's time at most. */
class PatienceTest {
  private static final long SECOND = 1_000_000_000;
  private static final LogName JOBS = new LogName("jobs");

  private final AtomicLong now = new AtomicLong(Long.MAX_VALUE - 90 * SECOND); // of any origin
  private final Patience patience = new Patience(now::get);

  @Test
  void whatFailsAtOnceIsTriedInTheNextRound() {
    long began = patience.now();
    now.addAndGet(SECOND / 2);
    patience.failed(JOBS, began);
    assertTrue(patience.isOver(JOBS));
  }

  @Test
  void whatTookAMinuteToFailIsTriedAgainAfterNine() {
    long began = patience.now();
    now.addAndGet(61 * SECOND);
    patience.failed(JOBS, began);
    assertTrue(patience.isOver(new LogName("other")));
    now.addAndGet(9 * 61 * SECOND - 1);
    assertFalse(patience.isOver(JOBS));
    now.addAndGet(1);
    assertTrue(patience.isOver(JOBS));
  }

  /** The damage is found at once here; the clock says that it took a minute. */
  @Test
  void aCloserDoesNotAskSuchALogInItsNextRound(@TempDir Path temp) throws Exception {
    Path root = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(root);
    cinch.settled("bad", "text\n");
    cinch.settled("good", "text\n");
    for (String log : List.of("bad", "good")) {
      cinch.overdue(log, "more\n", Duration.ofMinutes(5));
    }
    try (var records = Files.walk(root.resolve("logs/bad/horizon/records"))) {
      for (Path record : records.filter(Files::isRegularFile).toList()) {
        Files.delete(record);
        Files.writeString(record, "nonsense");
      }
    }
    var environment = Store.Environment.of(new MachineName("m"), SystemTime.INSTANCE);
    Store store = Store.open(root, environment);
    var io =
        new Io(
            InputStream.nullInputStream(),
            OutputStream.nullOutputStream(),
            new PrintStream(OutputStream.nullOutputStream()),
            name -> null,
            false,
            false,
            Stop.byHand());
    var minutes = new AtomicLong();
    var closing =
        new LogClosing(
            io,
            new JsonOption(),
            false,
            false,
            new Patience(() -> minutes.getAndIncrement() * 60 * SECOND),
            null);
    try (Output out = io.output()) {
      LogsOption.Work round =
          closing.round(
              SystemTime.INSTANCE.wallNanos() - 60 * SECOND, new ThirdOpinion(null, null), out);
      var bad = new LogName("bad");
      assertTrue(round.wants(bad));
      assertThrows(DamagedException.class, () -> round.on(store.log(bad)));
      assertFalse(round.wants(bad));
      var good = new LogName("good");
      assertTrue(round.wants(good));
      round.on(store.log(good));
    }
    assertEquals("text\nmore\n", cinch.run("cat", "--log=good").ended(0).out());
  }
}
