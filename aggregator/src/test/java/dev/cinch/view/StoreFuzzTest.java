package dev.cinch.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.LeaseAuditor;
import dev.cinch.bag.audit.Salvage;
import dev.cinch.bag.audit.SalvageSink;
import dev.cinch.bag.audit.Salvaged;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.fuzz.Edits;
import dev.cinch.fuzz.Hostile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;

/**
 * One file of a store from anywhere: part of the store is retired, part in segments and part open.
 * Everything that reads it gives right answers or an error that it documents.
 */
@SuppressWarnings("NullAway.Init")
final class StoreFuzzTest {
  /** Windows over a handful of data files, some read twice. */
  private static final long BUFFERS = 64 << 20;

  private static Rig rig;
  private static StoreFs fs;
  private static List<Path> files;
  private static List<byte[]> contents;
  private static List<String> settled;
  private static List<String> all;

  @BeforeAll
  static void make() throws Exception {
    rig = Rig.memory(1);
    fs = rig.disk.view(0);
    Log log = rig.open(fs);
    var limits = new Aggregator.Limits(1, Long.MAX_VALUE);
    Lines.write(rig, 3, 3);
    assertEquals(1, new Aggregator(log, limits).run().published());
    rig.time.advanceMs(7_200_000);
    assertEquals(1, new Retention(log, Duration.ofHours(1)).run().buckets());
    Lines.write(rig, 3, 3);
    assertEquals(1, new Aggregator(log, limits).run().published());
    Lines.write(rig, 3, 3);
    try (LogWriter writer = log.writer(Durability.CLOSE)) {
      Lines.append(writer, "open");
    }
    files = new ArrayList<>();
    find(rig.root);
    contents = new ArrayList<>();
    for (Path file : files) {
      contents.add(rig.disk.content(file));
    }
    settled = Lines.settled(log);
    all = live();
    assertEquals(9, settled.size());
    assertEquals(10, all.size());
  }

  private static void find(Path directory) throws IOException {
    for (String name : fs.list(directory).stream().sorted().toList()) {
      Path path = directory.resolve(name);
      try {
        find(path);
      } catch (NotDirectoryException e) {
        files.add(path);
      }
    }
  }

  private static List<String> live() throws IOException {
    var lines = new ArrayList<String>();
    rig.open(fs)
        .reader()
        .live(Lines.MIN, Lines.MAX, m -> lines.add(Lines.line(m)), (m, f, w) -> {});
    return lines;
  }

  @FuzzTest
  void altered(byte[] data) throws IOException {
    var edits = new Edits(data);
    int file = edits.choice(files.size());
    byte[] good = contents.get(file);
    byte[] bad = edits.of(good);
    check(file, bad, true);
  }

  /** What stands in an envelope may be anything, also behind a right digest. */
  @FuzzTest
  void forged(byte[] data) throws IOException {
    var edits = new Edits(data);
    int file = edits.choice(files.size());
    String good = new String(contents.get(file), StandardCharsets.ISO_8859_1);
    int line = good.indexOf('\n');
    if (!good.startsWith("cinch ") || line < 0) {
      return;
    }
    byte[] body = edits.of(good.substring(line + 1).getBytes(StandardCharsets.ISO_8859_1));
    check(file, sealed(good, new String(body, StandardCharsets.ISO_8859_1)), false);
  }

  /** The document with another content behind a right digest. */
  private static byte[] sealed(String document, String content) {
    byte[] body = content.getBytes(StandardCharsets.ISO_8859_1);
    return "cinch %s %s %d %s\n%s"
        .formatted(
            document.split(" ")[1],
            document.split(" ")[2],
            body.length,
            Envelope.sha256(body),
            content)
        .getBytes(StandardCharsets.ISO_8859_1);
  }

  private static void check(int file, byte[] bad, boolean damage) throws IOException {
    put(file, bad);
    try {
      reads(bad, damage);
      salvages(bad, damage);
      boolean found = verifies(bad);
      if (damage && !Arrays.equals(contents.get(file), bad) && !maySoBeWritten(file, bad)) {
        assertEquals(true, found, files.get(file).toString());
      }
    } finally {
      put(file, contents.get(file));
    }
  }

  /**
   * An open file that ends behind its header: nothing tells that its first batch was there. Or a
   * data file beside a lock, which counts for nothing (rule C2).
   */
  private static boolean maySoBeWritten(int file, byte[] bad) {
    byte[] good = contents.get(file);
    Path path = files.get(file);
    boolean closed = files.contains(path.resolveSibling("lock"));
    int header = new String(good, StandardCharsets.ISO_8859_1).indexOf("BTCH");
    return closed
        ? path.toString().endsWith(".log")
        : bad.length == header && Arrays.mismatch(good, bad) == header;
  }

  private static void put(int file, byte[] bytes) throws IOException {
    rig.disk.truncate(files.get(file), 0);
    rig.disk.put(files.get(file), 0, bytes);
  }

  private static void reads(byte[] bad, boolean damage) {
    var lines =
        Hostile.parse(bad.length, BUFFERS, () -> Lines.settled(rig.open(fs)), IOException.class);
    var live = Hostile.parse(bad.length, BUFFERS, StoreFuzzTest::live, IOException.class);
    if (damage) {
      lines.ifPresent(l -> assertEquals(settled, l));
      live.ifPresent(l -> assertEquals(all.subList(0, Math.min(all.size(), l.size())), l));
    }
  }

  private static void salvages(byte[] bad, boolean damage) {
    var found = new ArrayList<String>();
    var sink =
        new SalvageSink() {
          @Override
          public void message(Salvaged m) {
            found.add(m.timestamp() + " " + m.file() + " " + m.position());
          }

          @Override
          public void left(Kind kind, Name path, long offset, long length, String why) {
            assertFalse(why.isEmpty());
          }
        };
    Hostile.parse(
        bad.length,
        BUFFERS,
        () -> {
          found.clear();
          return Salvage.run(
              PosixStore.unread(fs, rig.root), new StoreLayout(rig.root).log(Rig.JOBS), sink);
        },
        IOException.class);
    if (damage) {
      List<String> known = all.stream().map(StoreFuzzTest::place).toList();
      assertEquals(known.stream().filter(found::contains).toList(), found);
    }
  }

  private static String place(String line) {
    return String.join(" ", Arrays.asList(line.split(" ")).subList(0, 3));
  }

  /** Whether anything is found. */
  private static boolean verifies(byte[] bad) {
    var findings = new ArrayList<Finding>();
    var opened =
        Hostile.parse(
            bad.length,
            BUFFERS,
            () -> StoreVerifier.verify(rig.root, rig.environment(fs, rig.time), findings::add),
            IOException.class);
    Hostile.parse(
        bad.length,
        BUFFERS,
        () -> LeaseAuditor.audit(Store.open(rig.root, rig.environment(fs, rig.time))),
        IOException.class);
    return opened.isEmpty() || !findings.isEmpty();
  }
}
