package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.close.TooEarlyException;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.LeaseUnavailableException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Rounds over the logs of a store; of idle ones see {@link IdleRulesTest}. */
@SuppressWarnings("NullAway.Init")
class CloserTest {
  private static final long SECOND = 1_000_000_000;
  private static final long HOUR = 3_600 * SECOND;
  private static final OptionalLong ANY = OptionalLong.empty();

  private final List<String> told = new ArrayList<>();
  private Rig rig;
  private FaultyFs fs;
  private Store store;

  @BeforeEach
  void open() throws IOException {
    rig = Rig.memory(5);
    fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    store = Store.open(rig.root, rig.environment(fs, rig.time));
  }

  private final class Told implements Closer.Listener {
    @Override
    public void begins() {
      told.add("begins");
    }

    @Override
    public void failed(@Nullable LogName log, Exception why) {
      told.add(log + ": " + why.getMessage());
    }

    @Override
    public void settled(Closer.Settled log) {
      told.add("%s %d, %d".formatted(log.log(), log.record(), log.buckets()));
    }

    @Override
    public void early(LogName log, long through, long nanos) {
      assertTrue(nanos > 0 && through > 0, () -> log + " " + through + " " + nanos);
      told.add("early");
    }
  }

  private Closer closer(Closer.@Nullable Opinion opinion, LogName... logs) {
    return new Closer(store, List.of(logs), opinion, new Told());
  }

  /** What was told since the last call. */
  private List<String> told() {
    List<String> lines = told.stream().filter(line -> !line.equals("early")).toList();
    told.clear();
    return lines;
  }

  private Log append(String name) throws Exception {
    Log log = store.createLog(new LogName(name));
    try (LogWriter writer = log.writer(Durability.SYNC)) {
      Receipt receipt = writer.append(name.getBytes(StandardCharsets.UTF_8));
      assertInstanceOf(Receipt.Committed.class, receipt);
    }
    return log;
  }

  private void grace() {
    rig.time.advanceNanos(2 * SECOND + store.settings().graceNanos());
  }

  @Test
  void aLogThatFailsSlowlyTakesATenthOfTheTimeAndKeepsNoOtherFromItsTurn() throws Exception {
    Log bad = append("bad");
    append("good");
    grace();
    var asked = new AtomicInteger();
    var slowness = new long[] {60 * SECOND};
    fs.before(
        op -> {
          if (op.kind() == Kind.LIST
              && op.path().startsWith(bad.context().layout().horizon().path())) {
            asked.incrementAndGet();
            rig.time.advanceNanos(slowness[0]);
            throw new IOException("a lock is missing");
          }
        });
    Closer closer = closer(null, bad.name(), new LogName("good"));
    closer.round(ANY, true);
    assertEquals(List.of("begins", "bad: a lock is missing", "good 1, 1"), told());
    rig.time.advanceNanos(9 * 60 * SECOND - SECOND);
    closer.round(ANY, true);
    assertEquals(1, asked.get());
    assertEquals(List.of("begins", "good 2, 0"), told());
    rig.time.advanceNanos(SECOND);
    slowness[0] = SECOND / 2;
    closer.round(ANY, true);
    closer.round(ANY, true); // what failed at once is tried again at once
    assertEquals(3, asked.get());
  }

  @Test
  void anOpinionIsAskedForOnceARoundAndOnlyWhereALogNeedsIt() throws Exception {
    append("a");
    grace();
    var asked = new AtomicInteger();
    Closer closer =
        closer(
            () -> {
              throw new LeaseUnavailableException(
                  "nobody answers " + asked.incrementAndGet(), null);
            });
    closer.round(ANY, true);
    assertEquals(0, asked.get());
    assertEquals(List.of("begins", "a 1, 1", "jobs 1, 0"), told());
    append("a");
    rig.time.advanceNanos(2 * HOUR);
    closer.round(ANY, true);
    // What "a" has was settled all the same.
    assertEquals(List.of("begins", "a 2, 1", "null: nobody answers 1"), told());
    closer(null).round(ANY, true);
    List<String> without = told();
    assertEquals(2, without.size(), without::toString);
    assertTrue(without.get(1).startsWith("null: a, jobs: this would settle"), without::toString);
    closer(() -> rig.time.wallNanos() - HOUR).round(ANY, true);
    assertTrue(told().get(1).contains("it says the present is"));
    closer(rig.time::wallNanos).round(ANY, true);
    assertEquals(List.of("begins", "a 3, 0", "jobs 2, 0"), told());
  }

  @Test
  void waitsUntilAllThatWasWrittenIsSettled() throws Exception {
    Log a = append("a");
    rig.time.advanceNanos(5 * SECOND);
    Log b = append("b");
    closer(null).round(OptionalLong.of(b.horizon().written()), true);
    assertTrue(told().get(1).startsWith("a: too early"));
    Closer closer = closer(null);
    closer.await(ANY, false);
    assertTrue(told.contains("early"));
    assertEquals(List.of("begins", "a 1, 1", "b 1, 1"), told());
    assertTrue(a.reader().settledThrough() < b.reader().settledThrough());
    closer.await(ANY, true);
    assertEquals(List.of("begins", "a 2, 0", "jobs 1, 0"), told());
    assertEquals(a.reader().settledThrough(), b.reader().settledThrough());
  }

  @Test
  void waitsWhileTheStorageIsFull() throws Exception {
    Log log = append("jobs");
    var full = new AtomicInteger(2);
    fs.before(
        op -> {
          if (op.kind() == Kind.CREATE
              && op.path().startsWith(log.context().layout().intents().path())
              && full.getAndDecrement() > 0) {
            throw new FileSystemException("x", null, "No space left on device");
          }
        });
    closer(null).await(ANY, false);
    String failed = "jobs: x: No space left on device";
    assertEquals(List.of("begins", failed, "begins", failed, "begins", "jobs 1, 1"), told());
  }

  @Test
  void whatTheListenerThrowsEndsTheRound() throws Exception {
    append("a");
    append("b");
    grace();
    var closer =
        new Closer(
            store,
            List.of(),
            null,
            new Closer.Listener() {
              @Override
              public void settled(Closer.Settled log) throws IOException {
                throw new IOException("nobody listens any more");
              }
            });
    assertThrows(IOException.class, () -> closer.round(ANY, true));
    assertEquals(Long.MIN_VALUE, store.log(new LogName("b")).reader().settledThrough());
    var early = new Closer(store, List.of(), null, new Closer.Listener() {});
    OptionalLong now = OptionalLong.of(rig.time.wallNanos());
    assertThrows(TooEarlyException.class, () -> early.round(now, true));
  }
}
