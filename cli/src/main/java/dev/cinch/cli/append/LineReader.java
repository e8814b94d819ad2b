package dev.cinch.cli.append;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Splits inputs into lines without copying them: reads into big buffers that are never written
 * over, so a line may be looked at as long as it is kept. Bytes are bytes; only what ends a line is
 * special, and the last line of an input needs none. Not thread-safe.
 */
public final class LineReader {
  private static final int BLOCK = 1 << 18;
  private static final int LEAST_ROOM = 1 << 12;

  /** What ends a line: a newline, a NUL, or only the input's end. */
  enum Ends {
    NEWLINE('\n'),
    NUL(0),
    INPUT(1 << 8); // no byte

    private final int value;

    Ends(int value) {
      this.value = value;
    }
  }

  private final Inputs inputs;
  private final Ends ends;
  private final int block;
  private final int limit;
  private byte[] buffer;
  private int start;
  private int end;
  private long dropped;
  private long lines;
  private @Nullable InputStream in;
  private boolean begun;
  private boolean over;
  private boolean cut;

  /**
   * @param limit a longer line is dropped and only its length is told, so that memory is bounded
   */
  LineReader(Inputs inputs, Ends ends, int limit) {
    this(inputs, ends, limit, BLOCK);
  }

  public LineReader(InputStream in, int limit, int block) {
    this(Inputs.of(in), Ends.NEWLINE, limit, block);
  }

  LineReader(Inputs inputs, Ends ends, int limit, int block) {
    this.inputs = inputs;
    this.ends = ends;
    byte[] last = inputs.endLine();
    this.limit = last == null ? limit : Math.max(limit, last.length);
    this.block = block;
    this.buffer = new byte[block];
  }

  /** Some lines in a row. */
  public static final class Lines {
    public final byte[] bytes;

    /** The number of the first one, from 1. */
    public final long first;

    private int[] starts = new int[64];
    private long[] lengths = new long[64];
    private int count;
    private boolean unfinished;

    Lines(byte[] bytes, long first) {
      this.bytes = bytes;
      this.first = first;
    }

    private void add(int start, long length) {
      if (count == starts.length) {
        starts = Arrays.copyOf(starts, 2 * count);
        lengths = Arrays.copyOf(lengths, 2 * count);
      }
      starts[count] = start;
      lengths[count++] = length;
    }

    public int count() {
      return count;
    }

    public int start(int index) {
      return starts[index];
    }

    /** Whether the input ended before a line did, so that its writer may be at it still. */
    boolean isUnfinished(int index) {
      return unfinished && index == count - 1;
    }

    /** In bytes; above the limit if the line was dropped. */
    public long length(int index) {
      return lengths[index];
    }
  }

  /** What one more read brings: maybe no line at all; null after the last one. */
  public @Nullable Lines read() throws IOException {
    if (!begun) {
      begun = true;
      in = inputs.next(1);
    }
    if (in == null || over) {
      return null;
    }
    makeRoom();
    int n = in.read(buffer, end, buffer.length - end);
    var found = new Lines(buffer, lines + 1);
    if (n < 0 && inputs.endLine() != null) {
      over = true;
      cut = true; // and what there is of a line with it
    } else if (n < 0) {
      if (end > start || dropped > 0 || ends == Ends.INPUT) {
        finish(found, end);
        found.unfinished = ends != Ends.INPUT;
      }
      start = end;
      in = inputs.next(lines + found.count() + 1);
    } else {
      int scan = end;
      end += n;
      for (int i = scan; i < end && !over; i++) {
        if (buffer[i] == ends.value && isEndLine(i)) {
          over = true;
        } else if (buffer[i] == ends.value) {
          finish(found, i);
          start = i + 1;
        }
      }
      if (end - start > limit) {
        dropped += end - start;
        start = end;
      }
    }
    lines += found.count();
    return found;
  }

  private boolean isEndLine(int lineEnd) {
    byte[] line = inputs.endLine();
    return line != null
        && dropped == 0
        && Arrays.equals(buffer, start, lineEnd, line, 0, line.length);
  }

  /** Whether the input ended before the line that ends it. */
  boolean isCut() {
    return cut;
  }

  private void finish(Lines found, int lineEnd) {
    long length = dropped + lineEnd - start;
    // A line of which bytes were dropped is above the limit already.
    found.add(start, length);
    dropped = 0;
  }

  private void makeRoom() {
    if (buffer.length - end >= Math.min(LEAST_ROOM, block)) {
      return;
    }
    int kept = end - start;
    var next = new byte[Math.max(block, 2 * kept + Math.min(LEAST_ROOM, block))];
    System.arraycopy(buffer, start, next, 0, kept);
    buffer = next;
    start = 0;
    end = kept;
  }
}
