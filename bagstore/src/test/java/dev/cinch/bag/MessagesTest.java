package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoredMessage;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.PendingReceipt;
import dev.cinch.lease.time.ForwardingTime;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.time.TimeSource;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class MessagesTest {
  private static final int MANY = 3_000; // more than are taken at a time

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(StoredMessage message) {
    return new String(message.payload(), StandardCharsets.UTF_8);
  }

  @Test
  void allAreGivenOnceInTheOrderOfEveryReader() throws Exception {
    Rig rig = Rig.memory(1);
    TimeSource coarse = coarse(rig.time);
    Log log = rig.open(rig.disk.view(Rig.ALICE), coarse);
    Log other = rig.open(rig.disk.view(Rig.ALICE), coarse);
    try (LogWriter a = log.writer(Durability.SYNC);
        LogWriter b = other.writer(Durability.SYNC)) { // of the same timestamps
      var pending = new ArrayList<PendingReceipt>();
      for (int i = 0; i < MANY; i++) {
        byte[] bytes = utf8("line " + i);
        pending.add((i % 2 == 0 ? a : b).submit(LeaseStamp.NONE, bytes, 0, bytes.length));
      }
      for (PendingReceipt receipt : pending) {
        assertInstanceOf(Receipt.Committed.class, receipt.await());
      }
    }
    rig.settle(log);
    var expected = new ArrayList<String>();
    var timestamps = new java.util.HashSet<Long>();
    log.reader()
        .settled(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            m -> {
              timestamps.add(m.timestamp());
              return expected.add(
                  m.timestamp() + " " + new String(m.payload(), StandardCharsets.UTF_8));
            },
            (m, file, why) -> {});
    assertTrue(timestamps.size() < MANY, "no two have the same timestamp");
    var found = new ArrayList<String>();
    try (Messages messages = log.messages(Instant.MIN, Instant.MAX)) {
      while (messages.hasNext()) {
        StoredMessage message = messages.next();
        found.add(message.timestamp() + " " + text(message));
      }
      assertThrows(NoSuchElementException.class, messages::next);
    }
    assertEquals(expected, found);
    assertEquals(MANY, found.size());
  }

  /** A wall clock of few steps, so that two processes give the same timestamps. */
  private static TimeSource coarse(ManualTime time) {
    long step = 400_000_000;
    return new ForwardingTime(time) {
      @Override
      public long wallNanos() {
        return time.wallNanos() / step * step;
      }
    };
  }

  @Test
  void timesAreInstantsToTheNanosecond() throws Exception {
    Rig rig = Rig.memory(2);
    Log log = rig.open(rig.disk.view(Rig.ALICE));
    var times = new ArrayList<Instant>();
    try (LogWriter writer = log.writer(Durability.SYNC)) {
      for (String line : List.of("a", "b", "c")) {
        long timestamp = writer.append(utf8(line)).timestamp();
        times.add(Instant.EPOCH.plusNanos(timestamp));
      }
    }
    rig.settle(log);
    try (Messages messages = log.messages(times.get(1), times.get(2))) {
      StoredMessage only = messages.next();
      assertEquals("b", text(only));
      assertEquals(times.get(1), only.time());
      assertFalse(messages.hasNext());
    }
  }

  /** A clock whose waits are where something happens. */
  private static TimeSource whenWaiting(ManualTime time, ArrayDeque<Runnable> events) {
    return new ForwardingTime(time) {
      @Override
      public void sleepNanos(long nanos) {
        events.remove().run();
      }
    };
  }

  @Test
  void whatFollowsIsWaitedForUntilItIsClosed() throws Exception {
    Rig rig = Rig.memory(3);
    Log writing = rig.open(rig.disk.view(Rig.ALICE));
    var events = new ArrayDeque<Runnable>();
    Log log = rig.open(rig.disk.view(Rig.ALICE), whenWaiting(rig.time, events));
    append(rig, writing, "a");
    try (Messages messages = log.follow(Instant.EPOCH)) {
      assertEquals("a", text(messages.next()));
      events.add(() -> {}); // nothing new
      events.add(() -> append(rig, writing, "b"));
      assertEquals("b", text(messages.next()));
      events.add(messages::close);
      assertFalse(messages.hasNext());
      assertTrue(events.isEmpty());
    }
  }

  private static void append(Rig rig, Log log, String line) {
    try (LogWriter writer = log.writer(Durability.SYNC)) {
      assertInstanceOf(Receipt.Committed.class, writer.append(utf8(line)));
      rig.settle(log);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void whatIsDamagedEndsIt() throws Exception {
    Rig rig = Rig.memory(4);
    Log log = rig.open(rig.disk.view(Rig.ALICE));
    append(rig, log, "a");
    Path record = log.context().layout().record(1).path();
    rig.disk.view(Rig.ALICE).unlink(record);
    try (Messages messages = log.messages(Instant.MIN, Instant.MAX)) {
      assertThrows(UncheckedIOException.class, messages::hasNext);
      assertFalse(messages.hasNext());
    }
  }

  /** Logs with the same timestamps, by two processes each, far more than are taken at a time. */
  @Test
  void severalLogsAreOneStreamInTheOrderOfTimeLogFileAndPosition() throws Exception {
    Rig rig = Rig.memory(5);
    TimeSource coarse = coarse(rig.time);
    Store store = Store.open(rig.root, rig.environment(rig.disk.view(Rig.ALICE), coarse));
    List<Log> logs = List.of(store.createLog(new LogName("b")), store.createLog(new LogName("a")));
    Log other =
        Store.open(rig.root, rig.environment(rig.disk.view(Rig.ALICE), coarse)).log(Rig.JOBS);
    var all = List.of(logs.get(0), logs.get(1), other);
    for (Log log : all) {
      Log same =
          Store.open(rig.root, rig.environment(rig.disk.view(Rig.ALICE), coarse)).log(log.name());
      try (LogWriter one = log.writer(Durability.SYNC);
          LogWriter two = same.writer(Durability.SYNC)) {
        for (int i = 0; i < MANY / 10; i++) {
          append(one, 5);
          append(two, 5);
        }
      }
    }
    long end = Long.MIN_VALUE;
    for (Log log : all) {
      end = Math.max(end, log.horizon().written());
    }
    rig.time.advanceMs(60_000);
    var expected = new ArrayList<String>();
    var found = new ArrayList<StoredMessage>();
    for (Log log : all) {
      log.horizon().advance(end, OptionalLong.of(rig.time.wallNanos()));
      log.messages(Instant.MIN, Instant.MAX).forEachRemaining(found::add);
    }
    found.sort(
        Comparator.comparing(StoredMessage::timestamp)
            .thenComparing(m -> m.log().value())
            .thenComparing(m -> m.file().toString())
            .thenComparing(StoredMessage::position));
    found.forEach(m -> expected.add(m.log() + " " + m.timestamp() + " " + text(m)));
    assertEquals(3 * MANY, expected.size());
    var merged = new ArrayList<String>();
    try (Messages messages = store.messages(all, Instant.MIN, Instant.MAX)) {
      assertEquals(Instant.MIN, messages.cut());
      messages.forEachRemaining(m -> merged.add(m.log() + " " + m.timestamp() + " " + text(m)));
      assertEquals(Instant.EPOCH.plusNanos(end), messages.cut());
    }
    assertEquals(expected, merged);
    assertThrows(IllegalArgumentException.class, () -> store.follow(List.of(), Instant.MIN));
    assertThrows(
        IllegalArgumentException.class,
        () -> store.messages(List.of(other, other), Instant.MIN, Instant.MAX));
  }

  private static void append(LogWriter writer, int count) throws Exception {
    var pending = new ArrayList<PendingReceipt>();
    for (int i = 0; i < count; i++) {
      byte[] bytes = utf8("line " + i);
      pending.add(writer.submit(LeaseStamp.NONE, bytes, 0, bytes.length));
    }
    for (PendingReceipt receipt : pending) {
      assertInstanceOf(Receipt.Committed.class, receipt.await());
    }
  }

  /** What one log has behind the others' ends is not given before they get there. */
  @Test
  void whoFollowsSeveralLogsIsGivenWhatIsSettledInAllOfThem() throws Exception {
    Rig rig = Rig.memory(6);
    var events = new ArrayDeque<Runnable>();
    Store writing = Store.open(rig.root, rig.environment(rig.disk.view(Rig.ALICE), rig.time));
    Log busy = writing.log(Rig.JOBS);
    Log idle = writing.createLog(new LogName("idle"));
    Store store =
        Store.open(
            rig.root, rig.environment(rig.disk.view(Rig.ALICE), whenWaiting(rig.time, events)));
    append(rig, busy, "a");
    append(rig, idle, "b");
    append(rig, busy, "c");
    List<Log> logs = List.of(store.log(busy.name()), store.log(idle.name()));
    try (Messages messages = store.follow(logs, Instant.EPOCH)) {
      assertEquals("a", text(messages.next()));
      assertEquals("b", text(messages.next()));
      Instant cut = messages.cut();
      events.add(() -> append(rig, busy, "d"));
      events.add(() -> settle(rig, idle));
      assertEquals("c", text(messages.next()));
      assertTrue(events.isEmpty() && messages.cut().isAfter(cut));
      assertEquals("d", text(messages.next()));
    }
  }

  private static void settle(Rig rig, Log log) {
    try {
      rig.settle(log);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }
}
