package dev.cinch.bag.read;

import dev.cinch.bag.bench.DataFileBytes;
import dev.cinch.bag.file.DataFileCursor;
import dev.cinch.bag.file.DataFileCursor.OnDamage;
import dev.cinch.bag.file.LeaseTable;
import dev.cinch.bag.file.OpenFiles;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.lease.Id;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * Reading back a data file of some 12 MB of 100-byte messages that is in memory, beside checksums
 * alone over the same bytes. The column {@code bytes} is bytes a second.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@SuppressWarnings("NullAway.Init") // JMH calls setUp first
public class ReadMicro {
  private static final int MESSAGES = 100_000;

  /** Messages a batch. */
  @Param({"1", "100", "1000"})
  public int batch;

  private final Path path = Path.of("bench");
  private FileHeader header;
  private LeaseTable leases;
  private byte[] file;

  /** Counts what was read. */
  @State(Scope.Thread)
  @AuxCounters(AuxCounters.Type.OPERATIONS)
  public static class Volume {
    public long bytes;
  }

  @Setup
  public void setUp() {
    var random = new Random(1);
    var name = new DataFileName(new MachineName("bench"), Id.random(random));
    Id log = Id.random(random);
    header = new FileHeader(Id.random(random), log, new Bucket(0, 10_000_000_000L), name);
    leases = new LeaseTable(new WitnessVerifier(TrustedKeys.NONE), log, 0);
    file = DataFileBytes.of(header, 1, 1_000, MESSAGES / batch, batch, 100);
  }

  @Benchmark
  public long cursor(Volume volume) throws IOException {
    long last = 0;
    int count = 0;
    try (var cursor =
        new DataFileCursor(
            Name.of(path),
            header,
            DataFileBytes.open(file),
            () -> DataFileBytes.open(file),
            file.length,
            OnDamage.GO_ON,
            leases,
            new OpenFiles(1))) {
      for (; cursor.next(); count++) {
        last = cursor.timestamp();
      }
    }
    if (count != MESSAGES) {
      throw new IllegalStateException(count + " messages");
    }
    volume.bytes += file.length;
    return last;
  }

  @Benchmark
  public long baselineCrc32c(Volume volume) {
    var crc = new CRC32C();
    crc.update(file, 0, file.length);
    volume.bytes += file.length;
    return crc.getValue();
  }

  /** The checksum that frames have. */
  @Benchmark
  public long baselineCrc32(Volume volume) {
    var crc = new CRC32();
    crc.update(file, 0, file.length);
    volume.bytes += file.length;
    return crc.getValue();
  }
}
