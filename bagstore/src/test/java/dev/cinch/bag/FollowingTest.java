package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.LogWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Rounds of what comes to logs. */
final class FollowingTest {
  /** Of 2,000 bytes: some blocks of a settled file. */
  private static final int MANY = 120;

  private static final String REST = " ".repeat(1_990);

  private static void append(Log log, int from, int to) throws Exception {
    try (LogWriter writer = log.writer(Durability.SYNC)) {
      for (int i = from; i < to; i++) {
        Receipt unused = writer.append((i + REST).getBytes(StandardCharsets.UTF_8));
      }
    }
  }

  private static Following of(Log log, boolean live) {
    return new Following(List.of(log), Long.MIN_VALUE, Long.MAX_VALUE, live, (m, file, why) -> {});
  }

  private static List<String> round(Following messages) throws IOException {
    messages.look();
    var found = new ArrayList<String>();
    for (Message m = messages.next(); m != null; m = messages.next()) {
      found.add(messages.log() + new String(m.payload(), StandardCharsets.UTF_8).strip());
    }
    return found;
  }

  private static List<String> texts(Log log, int from, int to) {
    return IntStream.range(from, to).mapToObj(i -> "" + log.name() + i).toList();
  }

  @Test
  void theLastOnesAreThoseAtTheEnd() throws Exception {
    Rig rig = Rig.memory(1);
    Log log = rig.open(rig.disk.view(Rig.ALICE));
    append(log, 0, MANY / 2);
    rig.settle(log);
    append(log, MANY / 2, MANY);
    rig.settle(log);
    append(log, MANY, MANY + 2);
    for (int last : new int[] {0, 1, 7, 50, 61, MANY - 1, MANY, MANY + 2, MANY + 3}) {
      try (Following settled = of(log, false);
          Following live = of(log, true)) {
        settled.tail(last);
        live.tail(last);
        assertEquals(texts(log, Math.max(0, MANY - last), MANY), round(settled), "" + last);
        assertEquals(texts(log, Math.max(0, MANY + 2 - last), MANY + 2), round(live), "" + last);
      }
    }
  }

  @Test
  void whatComesBehindTheLastOnesIsGivenOnce() throws Exception {
    Rig rig = Rig.memory(2);
    Log log = rig.open(rig.disk.view(Rig.ALICE));
    append(log, 0, 3);
    rig.settle(log);
    append(log, 3, 6);
    try (Following settled = of(log, false);
        Following live = of(log, true)) {
      settled.tail(2);
      live.tail(2);
      append(log, 6, 7); // of a live one it is new, though it is there at the first look
      assertEquals(texts(log, 1, 3), round(settled));
      assertEquals(texts(log, 4, 7), round(live));
      append(log, 7, 8);
      assertEquals(texts(log, 7, 8), round(live));
      rig.settle(log);
      assertEquals(texts(log, 3, 8), round(settled));
      assertEquals(List.of(), round(live));
      append(log, 8, 9);
      assertEquals(texts(log, 8, 9), round(live));
      assertEquals(List.of(), round(settled));
    }
  }

  @Test
  void logsThatAreMadeLaterJoin() throws Exception {
    Rig rig = Rig.memory(3);
    Store store = Store.open(rig.root, rig.environment(rig.disk.view(Rig.ALICE), rig.time));
    Log first = store.log(Rig.JOBS);
    append(first, 0, 2);
    rig.settle(first);
    try (Following messages = of(first, false)) {
      messages.join(
          known -> store.whole(store.logs().stream().filter(n -> !known.contains(n)).toList()));
      messages.tail(0);
      assertEquals(List.of(), round(messages));
      Log second = store.createLog(new LogName("second"));
      append(second, 0, 2);
      append(first, 2, 3);
      rig.settle(first);
      assertEquals(List.of(), round(messages), "nothing of it is settled, so there is no cut");
      assertEquals(second.name(), messages.last().name());
      rig.settle(second);
      List<String> both = round(messages);
      assertEquals(texts(second, 0, 2), both.subList(0, 2));
      assertEquals(texts(first, 2, 3), both.subList(2, 3));
      assertTrue(round(messages).isEmpty());
    }
  }

  /** Nor can gc remove what a follower holds open. */
  @Test
  void noFileIsOpenBetweenRounds() throws Exception {
    Rig rig = Rig.memory(4);
    Log ahead = rig.open(rig.disk.view(Rig.ALICE));
    Store store = Store.open(rig.root, rig.environment(rig.disk.view(Rig.ALICE), rig.time));
    Log behind = store.createLog(new LogName("behind"));
    append(behind, 0, 1);
    rig.settle(behind);
    append(ahead, 0, MANY);
    rig.settle(ahead);
    var counting = new FaultyFs(rig.disk.view(Rig.ALICE));
    Store reading = Store.open(rig.root, rig.environment(counting, rig.time));
    try (Following messages =
        new Following(
            List.of(reading.log(ahead.name()), reading.log(behind.name())),
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            false,
            (m, file, why) -> {})) {
      assertEquals(texts(behind, 0, 1), round(messages));
      assertEquals(count(counting, Kind.READ), count(counting, Kind.CLOSE));
      rig.settle(behind);
      assertEquals(texts(ahead, 0, MANY), round(messages));
      assertEquals(count(counting, Kind.READ), count(counting, Kind.CLOSE));
    }
  }

  private static long count(FaultyFs fs, Kind kind) {
    return fs.trace().stream()
        .filter(op -> op.kind() == kind && op.path().endsWith("lock"))
        .count();
  }
}
