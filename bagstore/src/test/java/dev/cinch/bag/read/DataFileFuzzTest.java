package dev.cinch.bag.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.cinch.bag.bench.DataFileBytes;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.fuzz.DataFile;
import dev.cinch.fuzz.Edits;
import dev.cinch.fuzz.Hostile;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Data files from anywhere, through the cursor that all readers use. */
final class DataFileFuzzTest {
  private static final DataFile SAMPLE = DataFile.sample();
  private static final byte[] GOOD = SAMPLE.bytes();

  /** Of a file that was altered, a reader gives the first messages as they were, or all. */
  @FuzzTest
  void altered(byte[] data) throws IOException {
    byte[] bad = new Edits(data).of(GOOD);
    var closed = new ArrayList<String>();
    boolean whole = reads(bad, DataFile.measured(GOOD), true, closed);
    assertEquals(SAMPLE.messages().subList(0, closed.size()), closed);
    assertTrue(!whole || SAMPLE.messages().size() == closed.size());

    var open = new ArrayList<String>();
    assertTrue(reads(bad, sized(bad), false, open));
    assertEquals(SAMPLE.messages().subList(0, open.size()), open);
  }

  /** Behind right checksums anything may stand. */
  @FuzzTest
  void forged(byte[] data) throws IOException {
    byte[] bad = DataFile.forged(data);
    var closed = new ArrayList<String>();
    var open = new ArrayList<String>();
    LockedFile locked = DataFile.measured(bad);
    boolean whole = locked.validLength() == bad.length && reads(bad, locked, true, closed);
    boolean taken = reads(bad, sized(bad), false, open);
    assertTrue(!whole || taken && closed.equals(open) && open.size() == locked.messages());
  }

  /** What is known of a file in an open bucket. */
  private static LockedFile sized(byte[] file) {
    return new LockedFile(DataFile.HEADER.name(), file.length, 0, 0, 0, 0, new byte[0]);
  }

  /** Whether it was read to its end. */
  private static boolean reads(
      byte[] file, LockedFile locked, boolean settled, List<String> messages) {
    return Hostile.parse(
            file.length,
            DataFile.WINDOWS,
            () -> {
              messages.clear();
              return read(file, locked, settled, messages);
            },
            DamagedException.class)
        .isPresent();
  }

  private static boolean read(
      byte[] file, LockedFile locked, boolean settled, List<String> messages) throws IOException {
    var leases =
        new LeaseTable(
            new WitnessVerifier(TrustedKeys.of(DataFile.KEY.publicKey())), DataFile.LOG, 0);
    try (var cursor =
        new DataFileCursor(
            Path.of("file"),
            DataFile.HEADER,
            DataFileBytes.open(file),
            () -> DataFileBytes.open(file),
            locked,
            settled ? Standing.SETTLED : Standing.OPEN,
            leases,
            new OpenFiles(1))) {
      while (cursor.next()) {
        messages.add(DataFile.line(cursor.position(), cursor.timestamp(), cursor.payload()));
        assertTrue(cursor.leases().size() <= cursor.signedLeases().size()); // as segments keep it
      }
    }
    return true;
  }
}
