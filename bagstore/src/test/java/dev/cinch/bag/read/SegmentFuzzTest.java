package dev.cinch.bag.read;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.cinch.bag.Rig;
import dev.cinch.bag.file.SegmentCursor;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.file.SegmentVerifier;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.fuzz.SegmentFile;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.store.LogContext;
import dev.cinch.fuzz.Edits;
import dev.cinch.fuzz.Hostile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;

/** Segments from anywhere, as they are read and verified. */
@SuppressWarnings("NullAway.Init")
final class SegmentFuzzTest {
  private static Rig rig;
  private static LogContext log;
  private static Path path;
  private static byte[] good;
  private static List<String> messages;

  @BeforeAll
  static void make() throws IOException {
    rig = Rig.memory(1);
    log = rig.open(rig.disk.view(0)).context();
    path = log.layout().segment(1).path();
    good = SegmentFile.sample(log);
    PosixStore.of(log.store().storage()).fs().create(path, 0644).close();
    messages = new ArrayList<>();
    put(good);
    boolean unused = read(Long.MIN_VALUE, Long.MAX_VALUE, messages);
    assertEquals(6, messages.size());
  }

  private static void put(byte[] bytes) throws IOException {
    rig.disk.truncate(path, 0);
    rig.disk.put(path, 0, bytes);
  }

  /** Messages come as they were or not at all; who verifies sees every byte. */
  @FuzzTest
  void altered(byte[] data) throws IOException {
    var edits = new Edits(data);
    long from = SegmentFile.START + edits.choice(4) * log.bucketWidth() / 2;
    long to = from + edits.choice(4) * log.bucketWidth();
    byte[] bad = edits.of(good);
    put(bad);
    boolean sound =
        Hostile.parse(bad.length, SegmentFuzzTest::verify, DamagedException.class).isPresent();
    if (sound) {
      assertArrayEquals(good, bad);
    }
    var found = new ArrayList<String>();
    boolean read =
        Hostile.parse(
                bad.length,
                () -> {
                  found.clear();
                  return read(from, to, found);
                },
                DamagedException.class)
            .isPresent();
    List<String> expected = messages.stream().filter(m -> within(m, from, to)).toList();
    assertEquals(expected.subList(0, Math.min(found.size(), expected.size())), found);
    assertEquals(expected.size() == found.size(), read || expected.size() == found.size());
  }

  /** What is verified can be read. */
  @FuzzTest
  void forged(byte[] data) throws IOException {
    byte[] bad = SegmentFile.forged(log, data);
    put(bad);
    boolean sound =
        Hostile.parse(bad.length, SegmentFuzzTest::verify, DamagedException.class).isPresent();
    boolean read =
        Hostile.parse(
                bad.length,
                () -> read(Long.MIN_VALUE, Long.MAX_VALUE, new ArrayList<>()),
                DamagedException.class)
            .isPresent();
    assertEquals(sound, sound && read);
  }

  private static boolean within(String message, long from, long to) {
    long timestamp = Long.parseLong(message.substring(0, message.indexOf(' ')));
    return timestamp >= from && timestamp < to;
  }

  private static boolean verify() throws IOException {
    try (SegmentReader segment = SegmentReader.open(log, 1)) {
      new SegmentVerifier(segment).verify(b -> {});
    }
    return true;
  }

  private static boolean read(long from, long to, List<String> into) throws IOException {
    try (SegmentReader segment = SegmentReader.open(log, 1)) {
      SegmentCursor m = segment.messages(from, to);
      while (m.next()) {
        into.add(
            "%d %s %d %s %s"
                .formatted(
                    m.timestamp(),
                    m.file(),
                    m.position(),
                    Arrays.toString(m.payload()),
                    m.signedLeases().stream().map(Arrays::toString).toList()));
      }
    }
    return true;
  }
}
