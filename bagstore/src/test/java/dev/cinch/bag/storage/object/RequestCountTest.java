package dev.cinch.bag.storage.object;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import dev.cinch.bag.Following;
import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** What is paid for: the requests of the table in docs/storage-object.md. */
class RequestCountTest {
  private static final long SECOND = 1_000_000_000L;

  private final ManualTime time = ManualTime.ticking();
  private int puts;
  private int gets;
  private int lists;
  private String hidden = "";

  private final Storage storage = Rig.objects(new FakeObjects(time), Counting::new, time, 1 << 20);

  /** Deletions cost nothing. */
  private final class Counting extends PassingObjects {
    Counting(Objects inner) {
      super(inner);
    }

    @Override
    public boolean put(String key, ByteBuffer... body) throws IOException {
      puts++;
      return super.put(key, body);
    }

    @Override
    public Got get(String key, long from, int most) throws IOException {
      gets++;
      if (most == 0 && !hidden.isEmpty() && key.endsWith(hidden)) {
        throw new NoSuchFileException(key);
      }
      return super.get(key, from, most);
    }

    @Override
    public Listing list(String prefix, String after, boolean places) throws IOException {
      lists++;
      return super.list(prefix, after, places);
    }
  }

  private Log client(String machine) throws IOException {
    return Rig.open(storage, time, machine).createLog(Rig.JOBS);
  }

  private String counted() {
    String all = "%d PUT, %d GET, %d LIST".formatted(puts, gets, lists);
    puts = 0;
    gets = 0;
    lists = 0;
    return all;
  }

  private static void append(LogWriter writer) throws Exception {
    assertInstanceOf(Receipt.Committed.class, writer.append(new byte[200]));
  }

  @Test
  void anAppendInABucketThatIsNew() throws Exception {
    try (LogWriter writer = client("a").writer(Durability.SYNC)) {
      append(writer);
      time.advanceNanos(SECOND);
      counted();
      append(writer);
      assertEquals("1 PUT, 4 GET, 3 LIST", counted());
    }
  }

  @Test
  void anAppendInABucketThatWasPassed() throws Exception {
    try (LogWriter writer = client("a").writer(Durability.SYNC)) {
      append(writer);
      counted();
      append(writer);
      assertEquals("1 PUT, 2 GET, 0 LIST", counted());
    }
  }

  @Test
  void closing() throws Exception {
    Log log = client("c");
    try (LogWriter writer = client("a").writer(Durability.SYNC)) {
      append(writer);
    }
    time.advanceNanos(5 * SECOND);
    log.horizon().advance(log.horizon().reachable(), OptionalLong.empty());
    try (LogWriter writer = client("a").writer(Durability.SYNC)) {
      append(writer);
    }
    time.advanceNanos(5 * SECOND);
    counted();
    log.horizon().advance(log.horizon().reachable(), OptionalLong.empty());
    assertEquals("5 PUT, 20 GET, 20 LIST", counted());
    counted();
    log.horizon().advance(log.horizon().reachable(), OptionalLong.empty());
    assertEquals("0 PUT, 4 GET, 5 LIST", counted());
  }

  private void settle(Log log) throws Exception {
    try (LogWriter writer = client("a").writer(Durability.SYNC)) {
      append(writer);
    }
    time.advanceNanos(5 * SECOND);
    log.horizon().advance(log.horizon().reachable(), OptionalLong.empty());
  }

  private static Following following(Log log) {
    return new Following(List.of(log), Long.MIN_VALUE, Long.MAX_VALUE, false, (m, file, why) -> {});
  }

  private static int round(Following settled) throws Exception {
    settled.look();
    int messages = 0;
    while (settled.next() != null) {
      messages++;
    }
    return messages;
  }

  @Test
  void following() throws Exception {
    Log log = client("c");
    settle(log);
    try (Following settled = following(client("r"))) {
      assertEquals(1, round(settled));
      counted();
      assertEquals(0, round(settled));
      assertEquals("0 PUT, 1 GET, 0 LIST", counted());
      settle(log);
      assertEquals(1, round(settled));
    }
  }

  /** Behind a checkpoint the next record is gone, and one question does not tell that. */
  @Test
  void aFollowerThatSleptListsAtTimes() throws Exception {
    Log log = client("c");
    settle(log);
    try (Following settled = following(client("r"))) {
      assertEquals(1, round(settled));
      settle(log);
      hidden = "/0000000002";
      int rounds = 1;
      while (round(settled) == 0 && rounds < 100) {
        rounds++;
      }
      assertEquals(32, rounds);
    }
  }
}
