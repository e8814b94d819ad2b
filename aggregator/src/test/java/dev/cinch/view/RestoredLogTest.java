package dev.cinch.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.backup.RestoredLog;
import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.close.HorizonAdvance;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Share;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Rule H10: a copy is mended, in whatever order it was made. */
class RestoredLogTest {
  private static final Path COPY = Path.of("/copy");
  private static final List<String> PIECES =
      List.of(
          "logs/jobs/horizon/records",
          "logs/jobs/horizon/checkpoints",
          "logs/jobs/horizon/intents",
          "logs/jobs/segments",
          "logs/jobs/buckets");

  private static void copy(Rig rig, Path from, Path to) throws IOException {
    StoreFs fs = rig.disk.view(Rig.ALICE);
    List<String> names;
    try {
      names = fs.list(from);
    } catch (NotDirectoryException e) {
      try (StoreFile out = fs.create(to, 0644)) {
        out.write(ByteBuffer.wrap(rig.disk.content(from)));
        out.force();
      } catch (FileAlreadyExistsException there) {
        return;
      }
      return;
    }
    try {
      fs.mkdir(to, 0755);
    } catch (FileAlreadyExistsException e) {
      // It was made for what stands in it.
    }
    for (String name : names) {
      String path = rig.root.relativize(from.resolve(name)).toString();
      if (!PIECES.contains(path)) {
        copy(rig, from.resolve(name), to.resolve(name));
      }
    }
  }

  private static Log open(Rig rig, Path root) throws IOException {
    return Store.open(root, rig.environment(rig.disk.view(Rig.ALICE), rig.time)).log(Rig.JOBS);
  }

  private static void happens(Rig rig, Random random) throws Exception {
    switch (random.nextInt(4)) {
      case 0 -> Lines.write(rig, 4, 5);
      case 1 -> {
        Aggregator.Result unused =
            new Aggregator(open(rig, rig.root), new Aggregator.Limits(1, Long.MAX_VALUE)).run();
      }
      case 2 -> {
        try (LogWriter writer = open(rig, rig.root).writer(Durability.SYNC)) {
          Receipt unused = writer.append("open".getBytes(StandardCharsets.UTF_8));
        }
      }
      default -> rig.settle(open(rig, rig.root));
    }
  }

  /** Without what says whether it is settled. */
  private static List<String> live(Log log) throws IOException {
    var live = new ArrayList<String>();
    log.reader()
        .live(
            Lines.MIN,
            Lines.MAX,
            m -> live.add(m.timestamp() + " " + m.file() + " " + m.position()),
            (m, f, w) -> {});
    return live;
  }

  private static void mend(Rig rig, Log log) throws Exception {
    Object unused = new RestoredLog(log).mend();
    var horizon = new HorizonAdvance(log.context());
    horizon.settleRestored();
    rig.time.advanceNanos(
        2 * log.context().bucketWidth() + log.context().store().settings().graceNanos());
    long written = horizon.written();
    if (written > Long.MIN_VALUE) {
      unused = horizon.advance(written, OptionalLong.empty());
    }
  }

  private static List<String> damage(Rig rig) throws IOException {
    var found = new ArrayList<String>();
    StoreVerifier.verify(
        COPY,
        rig.environment(rig.disk.view(Rig.ALICE), rig.time),
        f -> {
          if (f.severity() != Finding.Severity.NOTE) {
            found.add(f.toString());
          }
        });
    return found;
  }

  @Test
  @Tag("share")
  void h10_inWhateverOrderItWasMade() throws Exception {
    for (int seed = Share.first(4); seed < 400; seed += Share.step(4)) {
      var random = new Random(seed);
      Rig rig = Rig.memory(seed);
      for (int i = random.nextInt(3); i >= 0; i--) {
        happens(rig, random);
      }
      copy(rig, rig.root, COPY);
      var pieces = new ArrayList<>(PIECES);
      Collections.shuffle(pieces, random);
      List<String> expected = List.of();
      for (String piece : pieces) {
        for (int i = random.nextInt(3); i > 0; i--) {
          happens(rig, random);
        }
        if (piece.endsWith("buckets")) {
          expected = live(open(rig, rig.root));
        }
        StoreFs fs = rig.disk.view(Rig.ALICE);
        for (String above : List.of("logs/jobs/horizon")) {
          try {
            fs.mkdir(COPY.resolve(above), 0755);
          } catch (FileAlreadyExistsException e) {
            continue;
          }
        }
        copy(rig, rig.root.resolve(piece), COPY.resolve(piece));
      }
      Log log = open(rig, COPY);
      mend(rig, log);
      assertEquals(expected, live(log), "seed " + seed);
      assertEquals(List.of(), damage(rig), "seed " + seed);
      assertTrue(log.reader().settledThrough() >= log.horizon().written());
      try (LogWriter writer = log.writer(Durability.SYNC)) {
        assertInstanceOf(
            Receipt.Committed.class, writer.append("next".getBytes(StandardCharsets.UTF_8)));
      }
      rig.settle(log);
      Object unused = new Aggregator(log).run();
      assertEquals(List.of(), damage(rig), "seed " + seed);
    }
  }

  /** A copy of two messages in one bucket, which is closed, and settled if there are records. */
  private static Log closed(Rig rig, boolean records) throws Exception {
    try (LogWriter writer = open(rig, rig.root).writer(Durability.SYNC)) {
      Lines.append(writer, "one");
      Lines.append(writer, "two");
    }
    rig.settle(open(rig, rig.root));
    copy(rig, rig.root, COPY);
    for (String piece : PIECES) {
      if (records || piece.endsWith("buckets")) {
        copy(rig, rig.root.resolve(piece), COPY.resolve(piece));
      } else { // from a time before
        rig.disk.view(Rig.ALICE).mkdir(COPY.resolve(piece), 0755);
      }
    }
    return open(rig, COPY);
  }

  private static Path file(Log log, String end) throws IOException {
    return Retiring.files(log, log.context().layout().buckets().path()).stream()
        .filter(f -> f.toString().endsWith(end))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void h10_dataFilesBesideALockSayNothing() throws Exception {
    Rig rig = Rig.memory(1);
    Log log = closed(rig, true);
    rig.disk.truncate(file(log, ".log"), 100);
    assertEquals(0, new RestoredLog(log).mend().removed());
    assertEquals(2, Lines.settled(log).size());
    assertEquals(List.of(), damage(rig));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void h10_aLockThatIsNotWholeIsMadeAnew(boolean records) throws Exception {
    Rig rig = Rig.memory(1);
    Log log = closed(rig, records);
    Path lock = file(log, "/lock");
    rig.disk.truncate(lock, rig.disk.content(lock).length - 1);
    mend(rig, log);
    assertEquals(2, Lines.settled(log).size());
    assertEquals(List.of(), damage(rig));
  }

  /** Nothing else has its messages. */
  @Test
  void h10_aLockThatIsNotWholeStaysWhereNoDataFileDoes() throws Exception {
    Rig rig = Rig.memory(1);
    Log log = closed(rig, true);
    rig.disk.view(0).unlink(file(log, ".log"));
    Path lock = file(log, "/lock");
    rig.disk.truncate(lock, rig.disk.content(lock).length - 1);
    List<Path> before = Retiring.files(log, log.context().layout().root().path());
    var e = assertThrows(DamagedException.class, () -> new RestoredLog(log).mend());
    String line = String.valueOf(e.getMessage());
    assertTrue(line.startsWith(lock + "") && line.contains("salvage gets"), line);
    assertEquals(before, Retiring.files(log, log.context().layout().root().path()));
  }

  private static void copy(Rig rig, String... pieces) throws IOException {
    for (String piece : pieces) {
      copy(rig, rig.root.resolve(piece), COPY.resolve(piece));
    }
  }

  /** Two records with a segment of them. */
  private static void segment(Rig rig) throws Exception {
    Lines.write(rig, 4, 5);
    Lines.write(rig, 4, 5);
    Retiring.aggregate(rig);
  }

  private static Rig begun() throws Exception {
    Rig rig = Rig.memory(1);
    segment(rig);
    segment(rig);
    copy(rig, rig.root, COPY);
    return rig;
  }

  private static void retire(Rig rig) throws Exception {
    assertTrue(new Retention(open(rig, rig.root), Duration.ZERO).run().publishes());
  }

  private static void expire(Rig rig) throws Exception {
    assertTrue(new Expiry(open(rig, rig.root), Duration.ZERO).run(path -> {}).moves());
  }

  @Test
  void h10_whatGcDeletedWhileItWasMadeIsNotLost() throws Exception {
    Rig rig = begun();
    copy(rig, PIECES.get(0), PIECES.get(1), PIECES.get(2));
    retire(rig);
    Lines.write(rig, 4, 5);
    copy(rig, PIECES.get(3), PIECES.get(4));
    var e = assertThrows(DamagedException.class, () -> new RestoredLog(open(rig, COPY)).mend());
    assertTrue(String.valueOf(e.getMessage()).contains("gc ran while"), e.getMessage());
  }

  @Test
  void h10_whatExpiredWhileItWasMadeIsGone() throws Exception {
    Rig rig = begun();
    retire(rig);
    copy(rig, PIECES.get(0), PIECES.get(1), PIECES.get(2));
    expire(rig);
    copy(rig, PIECES.get(3), PIECES.get(4));
    mend(rig, open(rig, COPY));
    assertEquals(List.of(), damage(rig));
    assertEquals(Lines.settled(open(rig, rig.root)), Lines.settled(open(rig, COPY)));
  }

  @Test
  void h10_aCheckpointAndAFloorThatAreAheadGo() throws Exception {
    Rig rig = begun();
    retire(rig);
    copy(rig, PIECES.get(0), PIECES.get(2), PIECES.get(3), PIECES.get(4));
    List<String> expected = Lines.settled(open(rig, rig.root));
    segment(rig);
    segment(rig);
    retire(rig);
    expire(rig);
    copy(rig, PIECES.get(1));
    mend(rig, open(rig, COPY));
    assertEquals(expected, Lines.settled(open(rig, COPY)));
    assertEquals(List.of(), damage(rig));
  }
}
