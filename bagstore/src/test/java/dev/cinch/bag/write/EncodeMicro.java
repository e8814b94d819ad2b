package dev.cinch.bag.write;

import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.fs.FileStatus;
import dev.cinch.bag.layout.Bucket;
import dev.cinch.bag.layout.DataFileName;
import dev.cinch.bag.layout.MachineName;
import dev.cinch.lease.Id;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** Gathering messages of 100 bytes in a batch and encoding it as a frame; nothing is written. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@SuppressWarnings("NullAway.Init") // JMH calls setUp first
public class EncodeMicro {
  @Param({"1", "100", "1000"})
  public int messages;

  private final byte[] payload = new byte[100];
  private final Bucket bucket = new Bucket(0, 10_000_000_000L);
  private final Condition done = new ReentrantLock().newCondition();
  private final BatchEncoder encoder = new BatchEncoder();
  private final CRC32C crc = new CRC32C();
  private FileHeader header;
  private BucketFile file;
  private @Nullable ByteBuffer recycled;
  private byte[] same;

  @Setup
  public void setUp() {
    var random = new Random(1);
    random.nextBytes(payload);
    var name = new DataFileName(new MachineName("bench"), Id.random(random));
    Path here = Path.of("bench");
    header = new FileHeader(Id.random(random), Id.random(random), bucket, name);
    file = new BucketFile(bucket, name, here, here, new FileStatus(1, 2, 0, 3, 0, 0));
    file.length = header.length();
    same = new byte[(int) (encode() - header.length())];
  }

  /** As a writer's threads and its committer do, but for their locks. */
  @Benchmark
  public long encode() {
    var batch = new PendingBatch(bucket, done, recycled);
    for (int i = 0; i < messages; i++) {
      batch.add(i, LeaseStamp.NONE, payload, 0, payload.length);
    }
    encoder.encode(batch, file, header);
    recycled = batch.messages;
    return encoder.newLength();
  }

  /** What a checksum alone over as many bytes takes. */
  @Benchmark
  public long baselineCrc32c() {
    crc.reset();
    crc.update(same, 0, same.length);
    return crc.getValue();
  }
}
