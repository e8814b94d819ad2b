package dev.cinch.bag.audit;

import static dev.cinch.bag.audit.AuditStore.append;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.bag.Log;
import dev.cinch.bag.audit.Finding.Severity;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A data file of an open bucket without a valid header: damage where one was there, and no alarm
 * where its writer, or the machine it ran on, stopped before the header arrived.
 */
class DestroyedHeaderTest {
  @TempDir Path temp;

  private AuditStore s;
  private Path file;
  private byte[] good;
  private byte[] twoBatches;
  private int length;

  @BeforeEach
  void open() throws Exception {
    s = new AuditStore(temp.resolve("store"), Leases.OPTIONAL);
    Log log = s.store.createLog(new LogName("jobs"));
    try (LogWriter writer = s.writer(log)) {
      long unused = append(writer, LeaseStamp.NONE, "one");
      try (Stream<Path> all = Files.walk(temp)) {
        file = all.filter(f -> f.toString().endsWith(".log")).findFirst().orElseThrow();
      }
      good = Files.readAllBytes(file);
      unused = append(writer, LeaseStamp.NONE, "two");
    }
    twoBatches = Files.readAllBytes(file);
    length = FileHeader.length(DataFileName.parse(file.getFileName() + "").orElseThrow());
  }

  private List<Severity> found(byte[] bytes) throws IOException {
    Files.write(file, bytes);
    var found = new ArrayList<Severity>();
    VerifySummary unused =
        StoreVerifier.verify(temp.resolve("store"), s.environment, f -> found.add(f.severity()));
    return found;
  }

  /** A byte of a write arrives as it was written, or it is zero. */
  @Test
  void aByteThatNobodyWrote() throws Exception {
    for (int i = 0; i < length; i++) {
      byte[] bad = good.clone();
      bad[i] = (byte) (good[i] == 7 ? 8 : 7);
      assertEquals(List.of(Severity.DAMAGE), found(bad), "byte " + i);
    }
  }

  /** Another one is written once the first was forced, with the header. */
  @Test
  void zerosBeforeASecondBatch() throws Exception {
    good = twoBatches;
    for (int i = 0; i < length; i++) {
      byte[] bad = good.clone();
      bad[i] ^= 1;
      assertEquals(List.of(Severity.DAMAGE), found(bad), "byte " + i);
    }
    Arrays.fill(good, 0, length, (byte) 0);
    assertEquals(List.of(Severity.DAMAGE), found(good));
  }

  /** A client that was cut off may have sent the second page and not the first, or part of one. */
  @Test
  void zerosBeforeTheOnlyBatch() throws Exception {
    for (int i = 1; i <= length; i++) {
      byte[] pieces = good.clone();
      Arrays.fill(pieces, 0, i, (byte) 0);
      assertEquals(List.of(Severity.NOTE), found(pieces), "first " + i);
    }
  }

  @Test
  void aWriterThatWasKilledBeforeItsFirstBatch() throws Exception {
    assertEquals(List.of(Severity.NOTE), found(new byte[0]));
    for (int i = 1; i <= length; i++) {
      List<Severity> unlessWhole = i < length ? List.of(Severity.NOTE) : List.of();
      assertEquals(unlessWhole, found(Arrays.copyOf(good, i)), "cut to " + i);
    }
  }

  /** A client that loses what it had not sent leaves holes: nothing of the first page arrived. */
  @Test
  void aHoleThatTheHeaderNeverFilled() throws Exception {
    byte[] hole = Arrays.copyOf(new byte[4096], 9000);
    Arrays.fill(hole, 4096, 9000, (byte) 7);
    assertEquals(List.of(Severity.NOTE), found(hole));
    assertEquals(List.of(Severity.NOTE), found(new byte[good.length]));
  }
}
