package dev.cinch.bag.salvage;

import dev.cinch.bag.file.OpenFiles;
import dev.cinch.bag.file.Window;
import dev.cinch.bag.format.Frame;
import dev.cinch.bag.format.FrameCodec;
import dev.cinch.bag.format.FrameHead;
import dev.cinch.bag.format.Trailer;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.storage.Stored;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The messages of all whole batches of one data file, in its order. Behind a damaged batch it looks
 * for the next head: heads are checksummed with the file's incarnation and their own offset, so
 * nothing else is taken for one (rule A4). Memory is bounded by the longest batch. Not thread-safe.
 */
final class FrameSalvager implements Source {
  private final Path path;
  private final DataFileName name;
  private final OpenFiles.Opening uncached;

  /**
   * Behind so many zeros no further batch is looked for: no write leaves such a gap, and to read a
   * hole of a terabyte takes longer than anybody waits.
   */
  static final long MOST_ZEROS = 1L << 28;

  private Stored in;
  private boolean again;
  private final long limit;
  private final boolean closed;
  private final Salvaged.State state;
  private final SalvageSink sink;
  private final FrameCodec codec;
  private final int chunk;
  private Window window;
  private long zeros;
  private long offset;
  private long gap = -1;
  private long entry;
  private long entriesEnd;
  private long position;
  private @Nullable Salvaged current;

  /**
   * @param uncached used once, before damage is believed (rule N5)
   * @param chunk how much is read at once, bytes
   * @param limit valid length, or the file's size where nothing says what it is
   * @param closed whether bytes that are not a whole batch are damage; else they are a torn tail
   */
  FrameSalvager(
      Path path,
      DataFileName name,
      Stored in,
      OpenFiles.Opening uncached,
      int chunk,
      long start,
      long limit,
      boolean closed,
      Salvaged.State state,
      SalvageSink sink) {
    this.path = path;
    this.name = name;
    this.in = in;
    this.uncached = uncached;
    this.limit = limit;
    this.closed = closed;
    this.state = state;
    this.sink = sink;
    this.codec = new FrameCodec(name);
    this.chunk = chunk;
    this.window = new Window(in, limit, chunk);
    this.offset = start;
    this.entry = start;
    this.entriesEnd = start;
  }

  @Override
  public @Nullable Salvaged next() throws IOException {
    while (true) {
      while (entriesEnd - entry >= 4) {
        Salvaged found = nextEntry();
        if (found != null) {
          current = found;
          return found;
        }
      }
      if (!nextFrame()) {
        current = null;
        return null;
      }
    }
  }

  @Override
  public @Nullable Salvaged current() {
    return current;
  }

  /** The entry's message, or null for an entry of another kind. */
  private @Nullable Salvaged nextEntry() throws IOException {
    ByteBuffer view = window.view();
    int at = window.at(entry);
    int word = view.getInt(at);
    int n = Frame.length(word);
    boolean message = Frame.kind(word) == Frame.KIND_MESSAGE;
    int overhead = message ? Frame.MESSAGE_OVERHEAD : 4;
    if (entriesEnd - entry < (long) overhead + n) {
      sink.left(SalvageSink.Kind.DAMAGE, path, entry, entriesEnd - entry, "no entries of a batch");
      entry = entriesEnd;
      return null;
    }
    entry += overhead + n;
    if (!message) {
      return null;
    }
    byte[] payload = Arrays.copyOfRange(window.bytes(), at + overhead, at + overhead + n);
    return new Salvaged(view.getLong(at + 8), name.toString(), position++, payload, state);
  }

  private boolean nextFrame() throws IOException {
    while (offset < limit) {
      FrameHead head = null;
      boolean whole = false;
      if (window.load(offset, Frame.HEAD)) {
        head = codec.head(window.view(), window.at(offset), offset);
        whole = head != null && window.load(offset, (int) head.frameLength());
      }
      if (head != null && whole && isWhole(head)) {
        endGap(offset);
        offset += head.frameLength();
        return true;
      }
      if (readAgain()) {
        continue;
      }
      zeros = window.load(offset, 1) && window.bytes()[window.at(offset)] == 0 ? zeros + 1 : 0;
      if (zeros > MOST_ZEROS) {
        skipTo(limit); // a hole of any length costs nothing
        zeros = 0;
        continue;
      }
      skipTo(head != null && whole ? offset + head.frameLength() : offset + 1);
    }
    endGap(limit);
    return false;
  }

  /** Goes on past the cache; false if it does already. */
  private boolean readAgain() throws IOException {
    if (again) {
      return false;
    }
    again = true;
    try {
      Stored other = uncached.open();
      in.close();
      in = other;
      window = new Window(in, limit, chunk);
      return true;
    } catch (IOException e) {
      return false; // then what there is must do
    }
  }

  private void skipTo(long next) {
    gap = gap < 0 ? offset : gap;
    offset = Math.min(next, limit);
  }

  private void endGap(long end) throws IOException {
    if (gap >= 0) {
      boolean torn = !closed && end == limit;
      sink.left(
          torn ? SalvageSink.Kind.VOID : SalvageSink.Kind.DAMAGE,
          path,
          gap,
          end - gap,
          torn ? "a torn tail" : "no whole batch");
      gap = -1;
    }
  }

  private boolean isWhole(FrameHead head) {
    ByteBuffer view = window.view();
    int at = window.at(offset);
    long trailerOffset = offset + head.frameLength() - Frame.TRAILER;
    Trailer trailer = codec.trailer(view, window.at(trailerOffset), trailerOffset);
    if (trailer == null || trailer.frameOffset() != offset) {
      return false;
    }
    if (trailer.digest() != codec.digest(head, view, at)) {
      return false;
    }
    entry = offset + Frame.HEAD;
    entriesEnd = trailerOffset;
    position = trailer.messages() - head.messages(); // also behind batches that are lost
    return true;
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
