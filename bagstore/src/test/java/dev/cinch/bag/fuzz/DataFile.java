package dev.cinch.bag.fuzz;

import dev.cinch.bag.bench.DataFileBytes;
import dev.cinch.bag.file.DataFileCursor;
import dev.cinch.bag.file.DataFileCursor.OnDamage;
import dev.cinch.bag.file.DataFileExtent;
import dev.cinch.bag.file.LeaseTable;
import dev.cinch.bag.file.OpenFiles;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.Frame;
import dev.cinch.bag.format.FrameCodec;
import dev.cinch.bag.format.FrameHead;
import dev.cinch.bag.format.Trailer;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.lease.Altered;
import dev.cinch.lease.Id;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessSigner;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A small data file of several batches, and others with the same header and right checksums. */
public final class DataFile {
  public static final Id STORE = new Id(1, 2);
  public static final Id LOG = new Id(3, 4);

  /** 2026-01-01T00:00:00Z. */
  public static final long START = 1_767_225_600_000_000_000L;

  public static final long WIDTH = 1_000_000_000L;

  /** Signed the sample's witness. */
  public static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);

  /** Of the sample's file. */
  public static final FileHeader HEADER =
      new FileHeader(
          STORE,
          LOG,
          new Bucket(START, WIDTH),
          new DataFileName(new MachineName("m1"), new Id(5, 6)));

  /** Bytes that a reader takes for what it reads, and reads again past the cache. */
  public static final long WINDOWS = 4 << 18;

  private final FrameCodec codec = new FrameCodec(HEADER.name());
  private final ByteBuffer out;
  private final List<Integer> ends = new ArrayList<>();
  private final List<String> messages = new ArrayList<>();
  private int digest;
  private int batch;
  private int total;
  private boolean timed;
  private long first;
  private long last;

  private DataFile(int most) {
    out = ByteBuffer.allocate(most).order(ByteOrder.LITTLE_ENDIAN);
    ByteBuffer header = HEADER.encode();
    digest = FileHeader.digest(header);
    out.put(header);
  }

  /** Three batches of 2, 1 and 3 messages, under a lease and without. */
  public static DataFile sample() {
    var file = new DataFile(4_096);
    byte[] signed = signed().bytes();
    file.begin();
    file.out.putInt(Frame.entry(Frame.KIND_WITNESS, signed.length)).put(signed);
    file.out.putInt(Frame.entry(Frame.KIND_LEASE_SET, 4)).putInt(1);
    file.message(1, "one");
    file.message(0, "");
    file.end(2);
    file.begin();
    file.message(0, "alone".repeat(7));
    file.end(1);
    file.begin();
    file.out.putInt(Frame.entry(Frame.KIND_LEASE_SET, 4)).putInt(1);
    file.message(1, "three");
    file.message(0, "BTCH");
    file.message(1, "five");
    file.end(3);
    return file;
  }

  /**
   * A file whose every checksum is right and whose batches are anything.
   *
   * @param bodies cut into batches: before each its length (2 bytes) and its messages (1 byte)
   */
  public static byte[] forged(byte[] bodies) {
    var file = new DataFile(4_096 + 32 * bodies.length);
    ByteBuffer in = ByteBuffer.wrap(bodies).order(ByteOrder.LITTLE_ENDIAN);
    while (in.remaining() > 3) {
      int length = Math.min(1 + (in.getShort() & 0x7fff), in.remaining() - 1);
      byte count = in.get();
      file.begin();
      ByteBuffer body = in.slice().limit(length).order(ByteOrder.LITTLE_ENDIAN);
      file.times(body.duplicate().order(body.order()));
      file.out.put(body);
      in.position(in.position() + length);
      file.end(Math.max(1, count & 0x7f));
    }
    return file.bytes();
  }

  /** Walks a file with the sample's header. */
  public static DataFileCursor cursor(byte[] file, OnDamage onDamage) {
    return new DataFileCursor(
        Name.of(Path.of("file")),
        HEADER,
        DataFileBytes.open(file),
        () -> DataFileBytes.open(file),
        file.length,
        onDamage,
        leases(),
        new OpenFiles(1));
  }

  /** Walks what was found of such a file before. */
  public static DataFileCursor cursor(byte[] file, DataFileExtent known) {
    return new DataFileCursor(
        Name.of(Path.of("file")),
        HEADER,
        DataFileBytes.open(file),
        () -> DataFileBytes.open(file),
        known,
        leases(),
        new OpenFiles(1));
  }

  /** How much there is of such a file. */
  public static DataFileExtent measured(byte[] file) throws IOException {
    try (DataFileCursor m = cursor(file, OnDamage.GO_ON)) {
      boolean more = true;
      while (more) {
        more = m.next();
      }
      return m.extent();
    }
  }

  /** Of a file with the sample's witness. */
  public static LeaseTable leases() {
    return new LeaseTable(new WitnessVerifier(TrustedKeys.of(KEY.publicKey())), LOG, 0);
  }

  private static SignedWitness signed() {
    return new WitnessSigner(KEY)
        .sign(Altered.first("a", "h", new Id(7, 8), START, START + 60 * WIDTH));
  }

  /** The timestamps that a trailer tells. */
  private void times(ByteBuffer body) {
    while (body.remaining() >= 4) {
      int entry = body.getInt();
      boolean message = Frame.kind(entry) == Frame.KIND_MESSAGE;
      int rest = Frame.length(entry) + (message ? Frame.MESSAGE_OVERHEAD - 4 : 0);
      if (rest > body.remaining()) {
        return;
      }
      if (message) {
        last = body.getLong(body.position() + 4);
        first = timed ? first : last;
        timed = true;
      }
      body.position(body.position() + rest);
    }
  }

  private void begin() {
    batch = out.position();
    out.position(batch + Frame.HEAD);
  }

  private void message(int set, String text) {
    byte[] payload = text.getBytes(StandardCharsets.UTF_8);
    long timestamp = START + 1_000 + messages.size();
    out.putInt(Frame.entry(Frame.KIND_MESSAGE, payload.length)).putInt(set).putLong(timestamp);
    out.put(payload);
    first = messages.isEmpty() ? timestamp : first;
    last = timestamp;
    messages.add(line(messages.size(), timestamp, payload));
  }

  private void end(int count) {
    int end = out.position();
    int body = end - batch - Frame.HEAD;
    out.position(batch);
    codec.putHead(out, new FrameHead(body, count, digest), batch);
    digest =
        codec.beginDigest(digest, out, batch).digestBody(out, batch + Frame.HEAD, body).digest();
    total += count;
    out.position(end);
    codec.putTrailer(out, new Trailer(batch, digest, total, first, last), end);
    ends.add(out.position());
  }

  /** How a message is compared. */
  public static String line(long position, long timestamp, byte[] payload) {
    return position + " " + timestamp + " " + Arrays.toString(payload);
  }

  public byte[] bytes() {
    return Arrays.copyOf(out.array(), out.position());
  }

  /** Where batches end. */
  public List<Integer> ends() {
    return ends;
  }

  /** All messages, as {@link #line} has them. */
  public List<String> messages() {
    return messages;
  }
}
