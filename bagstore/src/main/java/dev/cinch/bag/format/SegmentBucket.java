package dev.cinch.bag.format;

import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Name;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The body of a bucket block: which data files were found when the bucket was closed, and how much
 * of them exists. A writer needs it that slept until the bucket was gone (rule R1).
 *
 * <pre>
 *  0  8  start of the bucket, nanoseconds
 *  8  8  from of the record that lists it: how far the log was settled when that was linked; in a
 *        lock, which no record lists yet: -2^63
 * 16  4  how many of the store's trusted keys apply (rule F3); in a lock: 0
 * 20  4  number of data files
 * 24  4  number of holes
 * 28     each data file, ascending by name bytewise:
 *        0  8  valid length in bytes
 *        8  8  messages that are there
 *       16  1  length n of the name
 *       17  n  name, ASCII
 *        each hole, ascending by data file and offset:
 *        0  4  data file: its place above, from 0
 *        4  8  offset at which it begins
 *       12  8  offset at which it ends
 *       20  8  messages that are missing; -1 if nobody knows
 * </pre>
 *
 * Numbers are little-endian.
 *
 * @param start of the bucket
 * @param settledBefore from the record that lists it, its {@code from}; an audit of fences needs it
 *     (section 8)
 * @param trustedKeys from the record that lists it
 * @param files all that were found, ascending by name
 * @param holes of these files, ascending by file and offset
 */
public record SegmentBucket(
    long start, long settledBefore, int trustedKeys, List<DataFile> files, List<Hole> holes) {
  private static final int FILES_AT = 28;
  private static final int NAME_AT = 17;
  private static final int HOLE = 28;

  public SegmentBucket {
    files = List.copyOf(files);
    holes = List.copyOf(holes);
  }

  /** As its lock has it, which no record lists yet. */
  public static SegmentBucket closed(long start, List<DataFile> files, List<Hole> holes) {
    return new SegmentBucket(start, Long.MIN_VALUE, 0, files, holes);
  }

  /** The same as the record that lists it has it. */
  public SegmentBucket listed(HorizonRecord record) {
    return new SegmentBucket(start, record.from(), record.trustedKeys(), files, holes);
  }

  /**
   * One data file.
   *
   * @param name never used again
   * @param validLength up to the end of the last whole batch, bytes
   * @param messages in those bytes; holes have none
   */
  public record DataFile(DataFileName name, long validLength, long messages) {}

  /**
   * A part of a data file that was damaged when its bucket was closed. Another whole batch stands
   * behind it, or the file goes on for longer than anybody looks for one.
   *
   * @param file one of the bucket's
   * @param from offset, bytes
   * @param to offset of its end, above {@code from}
   * @param messages that are missing; {@link #UNKNOWN} if no batch behind it tells
   */
  public record Hole(DataFileName file, long from, long to, long messages) {
    public static final long UNKNOWN = -1;
  }

  /** What it says of a file; empty if the file was not found when the bucket was closed. */
  public Optional<DataFile> file(DataFileName name) {
    return files.stream().filter(f -> f.name().equals(name)).findFirst();
  }

  /** Whether a batch that ends at an offset of a file exists (rule H1). */
  public boolean covers(DataFileName name, long end) {
    return file(name).map(f -> f.validLength() >= end).orElse(false)
        && holes.stream().noneMatch(h -> h.file().equals(name) && h.from() < end && end <= h.to());
  }

  /** Messages in all files that are there. */
  public long messages() {
    return files.stream().mapToLong(DataFile::messages).sum();
  }

  int bodyLength() {
    int length = Math.addExact(FILES_AT, Math.multiplyExact(HOLE, holes.size()));
    for (DataFile f : files) {
      length = Math.addExact(length, NAME_AT + f.name().toString().length());
    }
    return length;
  }

  void encode(ByteBuffer out) {
    out.putLong(start).putLong(settledBefore).putInt(trustedKeys).putInt(files.size());
    out.putInt(holes.size());
    for (DataFile f : files) {
      byte[] name = f.name().toString().getBytes(StandardCharsets.US_ASCII);
      out.putLong(f.validLength()).putLong(f.messages()).put((byte) name.length).put(name);
    }
    int file = 0;
    for (Hole h : holes) {
      while (!files.get(file).name().equals(h.file())) {
        file++;
      }
      out.putInt(file).putLong(h.from()).putLong(h.to()).putLong(h.messages());
    }
  }

  /**
   * @param in the body, little-endian, from position to limit
   * @param path for error messages
   * @param offset of the block, for error messages
   * @throws DamagedException if it contradicts itself
   */
  public static SegmentBucket decode(ByteBuffer in, Name path, long offset)
      throws DamagedException {
    if (in.remaining() < FILES_AT) {
      throw new DamagedException(path, offset, "a bucket", in.remaining() + " bytes");
    }
    long start = in.getLong();
    long settledBefore = in.getLong();
    int keys = in.getInt();
    int count = in.getInt();
    int holeCount = in.getInt();
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
    if (in.remaining() != (long) HOLE * holeCount || keys < 0 || count < 0) {
      throw new DamagedException(
          path,
          offset,
          "%d data files, %d holes and nothing else".formatted(count, holeCount),
          "more or less");
    }
    return new SegmentBucket(start, settledBefore, keys, files, holes(in, files, path, offset));
  }

  private static List<Hole> holes(ByteBuffer in, List<DataFile> files, Name path, long offset)
      throws DamagedException {
    var holes = new ArrayList<Hole>();
    int before = -1;
    long end = 0;
    while (in.hasRemaining()) {
      int place = in.getInt();
      long from = in.getLong();
      long to = in.getLong();
      long messages = in.getLong();
      end = place == before ? end : 0;
      if (place < Math.max(before, 0) || place >= files.size() || from < end || to <= from) {
        throw new DamagedException(
            path, offset, "holes ascending by data file and offset", "others");
      }
      DataFile file = files.get(place);
      boolean inside = to <= file.validLength() && messages >= 0;
      boolean last = from >= file.validLength() && messages == Hole.UNKNOWN;
      if (!inside && !last) {
        throw new DamagedException(
            path,
            offset,
            "a hole before the end of %s that says what is missing, or behind it".formatted(file),
            "%d to %d, %d messages".formatted(from, to, messages));
      }
      before = place;
      end = to;
      holes.add(new Hole(file.name(), from, to, messages));
    }
    return holes;
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
