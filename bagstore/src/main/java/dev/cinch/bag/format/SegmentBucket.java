package dev.cinch.bag.format;

import dev.cinch.bag.model.DataFileName;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The body of a segment's bucket block: what the lock of a bucket said of its files, which is what
 * a writer needs that slept until the bucket was gone (rule R1).
 *
 * <pre>
 *  0  8  start of the bucket, nanoseconds
 *  8  8  from of the record that lists it: how far the log was settled when that was linked
 * 16  4  how many of the store's trusted keys apply (rule F3)
 * 20  4  number of data files
 * 24     each, ascending by name bytewise:
 *        0  8  valid length in bytes
 *        8  8  messages
 *       16  1  length n of the name
 *       17  n  name, ASCII
 * </pre>
 *
 * Numbers are little-endian.
 *
 * @param start of the bucket
 * @param settledBefore from the record that lists it, its {@code from}; an audit of fences needs it
 *     (section 8)
 * @param trustedKeys from the record that lists it
 * @param files all that the lock lists, in its order
 */
public record SegmentBucket(long start, long settledBefore, int trustedKeys, List<DataFile> files) {
  private static final int FILES_AT = 24;
  private static final int NAME_AT = 17;

  public SegmentBucket {
    files = List.copyOf(files);
  }

  /**
   * One data file.
   *
   * @param name never used again
   * @param validLength bytes that exist; see {@link LockedFile}
   * @param messages in those bytes
   */
  public record DataFile(DataFileName name, long validLength, long messages) {}

  /** What a lock, and the record that lists it, say, as a segment keeps it. */
  public static SegmentBucket of(BucketLock lock, HorizonRecord record) {
    var files = new ArrayList<DataFile>(lock.files().size());
    for (LockedFile f : lock.files()) {
      files.add(new DataFile(f.name(), f.validLength(), f.messages()));
    }
    return new SegmentBucket(lock.bucket().start(), record.from(), record.trustedKeys(), files);
  }

  /** What it says of a file; empty if the file was not found when the bucket was closed. */
  public Optional<DataFile> file(DataFileName name) {
    return files.stream().filter(f -> f.name().equals(name)).findFirst();
  }

  /** Messages in all files. */
  public long messages() {
    return files.stream().mapToLong(DataFile::messages).sum();
  }

  int bodyLength() {
    int length = FILES_AT;
    for (DataFile f : files) {
      length = Math.addExact(length, NAME_AT + f.name().toString().length());
    }
    return length;
  }

  void encode(ByteBuffer out) {
    out.putLong(start).putLong(settledBefore).putInt(trustedKeys).putInt(files.size());
    for (DataFile f : files) {
      byte[] name = f.name().toString().getBytes(StandardCharsets.US_ASCII);
      out.putLong(f.validLength()).putLong(f.messages()).put((byte) name.length).put(name);
    }
  }

  /**
   * @param in the body, little-endian, from position to limit
   * @param path for error messages
   * @param offset of the block, for error messages
   * @throws DamagedException if it contradicts itself
   */
  public static SegmentBucket decode(ByteBuffer in, Path path, long offset)
      throws DamagedException {
    if (in.remaining() < FILES_AT) {
      throw new DamagedException(path, offset, "a bucket", in.remaining() + " bytes");
    }
    long start = in.getLong();
    long settledBefore = in.getLong();
    int keys = in.getInt();
    int count = in.getInt();
    var files = new ArrayList<DataFile>();
    String before = "";
    for (int i = 0; i < count; i++) {
      DataFile file = decodeFile(in);
      if (file == null || file.name().toString().compareTo(before) <= 0) {
        throw new DamagedException(
            path, offset, "data files ascending by name, lengths and messages that fit", "others");
      }
      before = file.name().toString();
      files.add(file);
    }
    if (in.hasRemaining() || keys < 0 || count < 0) {
      throw new DamagedException(path, offset, count + " data files and nothing else", "more");
    }
    return new SegmentBucket(start, settledBefore, keys, files);
  }

  private static @Nullable DataFile decodeFile(ByteBuffer in) {
    if (in.remaining() < NAME_AT) {
      return null;
    }
    long validLength = in.getLong();
    long messages = in.getLong();
    int length = in.get() & 0xff;
    if (length > in.remaining()) {
      return null;
    }
    var name = new byte[length];
    in.get(name);
    boolean possible =
        validLength == 0 ? messages == 0 : FrameCodec.isPossible(messages, validLength);
    if (validLength < 0 || !possible) {
      return null;
    }
    return DataFileName.parse(new String(name, StandardCharsets.ISO_8859_1))
        .map(n -> new DataFile(n, validLength, messages))
        .orElse(null);
  }
}
