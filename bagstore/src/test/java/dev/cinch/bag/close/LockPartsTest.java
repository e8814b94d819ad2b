package dev.cinch.bag.close;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.format.BucketLock;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.fuzz.DataFile;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.storage.Closing;
import dev.cinch.bag.write.LeaseStamp;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A lock of more data files than one file may list (format.md, lock). */
@SuppressWarnings("NullAway.Init")
class LockPartsTest {
  private static final int FILES = 40;
  private static final int MUCH = 1 << 20;

  @TempDir Path temp;

  private AuditStore s;
  private Log log;
  private long last;
  private Path lock;

  @BeforeEach
  void append() throws Exception {
    s = new AuditStore(temp.resolve("store"), Leases.OPTIONAL);
    log = s.store.createLog(new LogName("jobs"));
    for (int i = 0; i < FILES; i++) {
      try (var writer = s.writer(log)) {
        last = AuditStore.append(writer, LeaseStamp.NONE, "message " + i);
      }
    }
    Bucket bucket = Bucket.of(last, log.context().bucketWidth());
    lock = LogLayout.lock(log.context().layout().bucket(bucket));
    while (log.horizon().reachable() <= last) {
      s.clock.sleepNanos(AuditStore.SECOND);
    }
  }

  private void isWhole() throws Exception {
    var read = new ArrayList<String>();
    log.reader()
        .settled(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            true,
            m -> read.add(new String(m.payload(), java.nio.charset.StandardCharsets.UTF_8)),
            (m, file, why) -> {});
    assertEquals(IntStream.range(0, FILES).mapToObj(i -> "message " + i).toList(), read);
    assertEquals(List.of(), findings());
  }

  private List<String> findings() throws Exception {
    var found = new ArrayList<String>();
    StoreVerifier.verify(
        temp.resolve("store"),
        s.environment,
        f -> {
          if (f.severity() != Finding.Severity.NOTE) {
            found.add(f.path() + ": expected " + f.expected());
          }
        });
    return found;
  }

  private BucketLock decoded() throws IOException {
    return BucketLock.decode(Files.readAllBytes(lock), lock);
  }

  private List<Path> parts() throws IOException {
    try (var all = Files.list(Objects.requireNonNull(lock.getParent()))) {
      return all.filter(p -> LogLayout.isLockPart(String.valueOf(p.getFileName()))).toList();
    }
  }

  @Test
  void isKeptInPartsAndReadAsOne() throws Exception {
    SmallLocks.settle(log, last + 1, 2_000, MUCH);
    assertTrue(Files.readString(lock).startsWith("cinch lock 3 "));
    assertTrue(decoded().parts().size() > 5, decoded().toString());
    assertEquals(FILES, decoded().parts().stream().mapToInt(BucketLock.Part::files).sum());
    for (Path part : parts()) {
      assertTrue(Files.size(part) <= 2_000, part + " has " + Files.size(part));
    }
    isWhole();
  }

  @Test
  void aLockThatFitsHasNone() throws Exception {
    SmallLocks.settle(log, last + 1, MUCH, MUCH);
    assertTrue(Files.readString(lock).startsWith("cinch lock 2 "));
    assertEquals(List.of(), parts());
    isWhole();
  }

  /** Where this machine's kernel is the only one, forcing the file does as well. */
  @Test
  void copiesEndWhereTheyWouldBeTooMuch() throws Exception {
    SmallLocks.settle(log, last + 1, MUCH, 500);
    List<LockedFile> files = decoded().files();
    int copies = files.stream().mapToInt(f -> f.copy().length).sum();
    assertTrue(copies > 0 && copies <= 500, "bytes of copies: " + copies);
    isWhole();
  }

  @Test
  void aPartThatIsMissingOrAnotherOneIsDamage() throws Exception {
    SmallLocks.settle(log, last + 1, 2_000, MUCH);
    Path directory = Objects.requireNonNull(lock.getParent());
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxrwxr-x"));
    Path part = parts().get(0);
    Path other = parts().get(1);
    byte[] good = Files.readAllBytes(part);
    for (boolean missing : new boolean[] {true, false}) {
      Files.deleteIfExists(part);
      if (!missing) {
        Files.copy(other, part);
      }
      var e = assertThrows(DamagedException.class, this::isWhole);
      assertEquals(part, e.path());
      assertTrue(findings().get(0).startsWith(part.toString()), findings().toString());
    }
    Files.delete(part);
    Files.write(part, good);
    isWhole();
  }

  /** A closer that was slower, or was killed, leaves parts that the lock does not name. */
  @Test
  void partsOfOthersGo() throws Exception {
    SmallLocks.settle(log, last + 1, 2_000, MUCH);
    Path directory = Objects.requireNonNull(lock.getParent());
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxrwxr-x"));
    BucketLock truth = decoded();
    String foreign = LogLayout.lockPartName("0".repeat(64));
    Files.writeString(directory.resolve(foreign), "a part");
    Path own = directory.resolve(LogLayout.lockPartName("1".repeat(64)));
    try (Closing late = log.context().storage().seal(truth.bucket())) {
      List<LockedFile> unused = late.measure(n -> DataFile.HEADER, MUCH, e -> {});
      late.publishPart("1".repeat(64), new byte[1]);
      assertTrue(Files.exists(own));
      assertArrayEquals(Files.readAllBytes(lock), late.publish(new byte[1]));
      late.finish(truth.parts().stream().map(BucketLock.Part::sha256).toList());
    }
    assertFalse(Files.exists(directory.resolve(foreign)));
    assertFalse(Files.exists(own));
    isWhole();
  }
}
