package dev.cinch.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.Salvage;
import dev.cinch.bag.audit.SalvageSink;
import dev.cinch.bag.audit.Salvaged;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.bench.ForeignFile;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.Frame;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.lease.Id;
import dev.cinch.lease.Share;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files that another program wrote by docs/format.md: all readers say the same of them. */
class ForeignWriterTest {
  private static final LogName JOBS = new LogName("jobs");

  @TempDir Path temp;

  private Path store;
  private AuditStore s;
  private Log log;
  private long timestamp;
  private FileHeader header;
  private Path file;

  @BeforeEach
  void fill() throws Exception {
    store = Files.createTempDirectory(temp, "store").resolve("store");
    s = new AuditStore(store, Leases.OPTIONAL);
    log = s.store.createLog(JOBS);
    timestamp = AuditStore.append(s.writer(log), LeaseStamp.NONE, "ours");
    Bucket bucket = Bucket.of(timestamp, log.context().bucketWidth());
    var name = new DataFileName(new MachineName("other"), new Id(5, 6));
    header = new FileHeader(s.store.context().identity().id(), log.id(), bucket, name);
    file = LogLayout.dataFile(log.context().layout().bucket(bucket), name).path();
  }

  private ForeignFile foreign() {
    return new ForeignFile(header, timestamp + 1);
  }

  private List<Integer> live() throws IOException {
    var lengths = new ArrayList<Integer>();
    log.reader()
        .live(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            m -> lengths.add(m.payload().length),
            (m, f, why) -> {});
    return lengths;
  }

  private List<Integer> settled() throws IOException {
    var lengths = new ArrayList<Integer>();
    log.reader()
        .settled(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            true,
            m -> lengths.add(m.payload().length),
            (m, f, why) -> {});
    return lengths;
  }

  private List<Integer> python() throws Exception {
    Python.Run run = Python.read(temp, store, "jobs");
    assertEquals(0, run.exit(), run.err());
    return run.messages().stream().map(payload -> payload.length).toList();
  }

  private List<Finding> verify() throws IOException {
    var found = new ArrayList<Finding>();
    StoreVerifier.verify(store, s.environment, found::add);
    return found;
  }

  /** How long the messages are that it salvages; what it left goes to the list. */
  private List<Integer> salvage(List<String> left) throws IOException {
    var lengths = new ArrayList<Integer>();
    Salvage.run(
        PosixStore.unread(new PosixFs(null, null), store),
        new StoreLayout(store).log(JOBS),
        new SalvageSink() {
          @Override
          public void message(Salvaged message) {
            lengths.add(message.payload().length);
          }

          @Override
          public void left(Kind kind, Name path, long offset, long length, String why) {
            left.add(kind + " " + path.last() + " " + offset);
          }
        });
    return lengths;
  }

  /** Bytes of a payload in a frame of so many. */
  private static int payload(int frame) {
    return frame - Frame.HEAD - Frame.TRAILER - Frame.MESSAGE_OVERHEAD;
  }

  /** Of any length: each was written at once. */
  @Test
  void batchesOfAnyLengthExistForAll() throws Exception {
    Files.write(file, foreign().batch(100).batch(20_000).batch(90).bytes());
    List<Integer> expected = List.of("ours".length(), payload(100), payload(20_000), payload(90));
    assertEquals(expected, live());
    s.settle(log, timestamp);
    assertEquals(expected, live());
    assertEquals(expected, settled());
    assertEquals(expected, python());
    assertEquals(List.of(), verify());
  }

  @Test
  void c2_aTornEndDoesNotExistForAnybody() throws Exception {
    ForeignFile bytes = foreign().batch(100);
    int end = bytes.length();
    byte[] all = bytes.batch(20_000).bytes();
    Files.write(file, Arrays.copyOf(all, all.length - 1));
    List<Integer> expected = List.of("ours".length(), payload(100));
    assertEquals(expected, live());
    var left = new ArrayList<String>();
    assertEquals(expected, salvage(left));
    assertEquals(List.of("VOID " + header.name() + " " + end), left);
    assertEquals(List.of(Finding.Severity.NOTE), verify().stream().map(Finding::severity).toList());
    s.settle(log, timestamp);
    Files.write(file, all); // what comes too late does not exist either
    assertEquals(expected, live());
    assertEquals(expected, settled());
    assertEquals(expected, python());
    assertTrue(StoreVerifier.verify(store, s.environment, f -> {}).intact());
  }

  /** All the rest is given, and then it is told. */
  @Test
  void c4_aHoleInTheMiddleIsDamageOnceSettled() throws Exception {
    ForeignFile bytes = foreign().batch(100);
    int begin = bytes.length();
    int end = bytes.batch(20_000).length();
    byte[] all = bytes.batch(90).bytes();
    all[begin + 1_000] ^= 1;
    Files.write(file, all);
    s.settle(log, timestamp);
    List<Integer> expected = List.of("ours".length(), payload(100), payload(90));
    for (boolean there : new boolean[] {true, false}) { // nobody reads the data file
      var given = new ArrayList<Integer>();
      MessageSink sink = m -> given.add(m.payload().length);
      DamagedException damage =
          assertThrows(
              DamagedException.class,
              () ->
                  log.reader()
                      .settled(Long.MIN_VALUE, Long.MAX_VALUE, true, sink, (m, f, why) -> {}));
      assertEquals(Name.of(file), damage.path());
      assertEquals(begin, damage.offset());
      assertEquals(expected, given);
      assertTrue(verify().stream().anyMatch(f -> f.severity() == Finding.Severity.DAMAGE));
      Python.Run run = Python.read(temp, store, "jobs");
      assertEquals(1, run.exit(), run.err());
      assertEquals(
          file
              + ": damaged at byte %d: expected batches up to byte %d, with 1 messages\n"
                  .formatted(begin, end),
          run.err());
      assertEquals(expected, run.messages().stream().map(payload -> payload.length).toList());
      if (there) {
        Files.delete(file);
      }
    }
  }

  /** The lock would say the same, and nobody could read it: the log would never be settled. */
  @Test
  @Tag("share")
  void aTrailerWhoseCountCannotBeIsNone() throws Exception {
    long[] counts = {0, -1, Long.MIN_VALUE, 1_000, Long.MAX_VALUE};
    for (long count : Share.ALL ? counts : Arrays.copyOf(counts, 2)) {
      fill();
      Files.write(file, foreign().batch(100).batch(90, count).bytes());
      List<Integer> expected = List.of("ours".length(), payload(100));
      assertEquals(expected, live());
      s.settle(log, timestamp);
      assertEquals(expected, settled());
      assertEquals(expected, python());
    }
  }
}
