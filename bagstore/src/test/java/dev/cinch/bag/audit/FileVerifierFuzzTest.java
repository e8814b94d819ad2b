package dev.cinch.bag.audit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.cinch.bag.audit.Finding.Severity;
import dev.cinch.bag.bench.DataFileBytes;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.fuzz.DataFile;
import dev.cinch.bag.read.LeaseTable;
import dev.cinch.fuzz.Edits;
import dev.cinch.fuzz.Hostile;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** Data files from anywhere, as verify reads them. */
final class FileVerifierFuzzTest {
  private static final byte[] GOOD = DataFile.sample().bytes();

  /** Without a finding every byte is as it was, but for those that the lock has a copy of. */
  @FuzzTest
  void altered(byte[] data) throws IOException {
    byte[] bad = new Edits(data).of(GOOD);
    LockedFile lock = DataFile.measured(GOOD);
    if (verify(bad, lock).stream().noneMatch(f -> f.severity() == Severity.DAMAGE)) {
      int copied = (int) lock.copyOffset();
      assertArrayEquals(Arrays.copyOf(GOOD, copied), Arrays.copyOf(bad, copied));
    }
  }

  @FuzzTest
  void forged(byte[] data) throws IOException {
    byte[] bad = DataFile.forged(data);
    List<Finding> unused = verify(bad, DataFile.measured(bad));
  }

  private static List<Finding> verify(byte[] file, LockedFile locked) {
    List<Finding> findings =
        Hostile.parse(
                file.length, DataFile.WINDOWS, () -> verifier(file).settled(locked, file.length))
            .orElseThrow();
    for (Finding f : findings) {
      assertTrue(OneLine.fits(f.toString()), f.toString());
    }
    Hostile.parse(file.length, DataFile.WINDOWS, () -> verifier(file).open(file.length));
    return findings;
  }

  private static FileVerifier verifier(byte[] file) {
    return new FileVerifier(
        Path.of("file"),
        DataFile.HEADER,
        DataFileBytes.open(file),
        () -> DataFileBytes.open(file),
        new LeaseTable(
            new WitnessVerifier(TrustedKeys.of(DataFile.KEY.publicKey())), DataFile.LOG, 0));
  }
}
