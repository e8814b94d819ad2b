package dev.cinch.bag.file;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.Stored;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What is open, and held in memory, of the files that are merged: a bucket may have many more files
 * than a process may open. What was used longest ago is closed or forgotten, and opened or read
 * again when its turn comes. Not thread-safe.
 */
@CheckReturnValue
public final class OpenFiles {
  /** Files that are open at once. */
  private static final int MOST = 64;

  /** What all windows hold together, but for the one in use; bytes. */
  private static final long HELD = Math.min(1 << 26, Runtime.getRuntime().maxMemory() / 8);

  private static final int SMALLEST_CHUNK = 1 << 14;
  private static final int LARGEST_CHUNK = 1 << 18;

  private final int chunk;
  private final LinkedHashMap<Pooled, Stored> open = new LinkedHashMap<>(16, 0.75f, true);
  private final LinkedHashMap<DataFileCursor, Integer> held = new LinkedHashMap<>(16, 0.75f, true);
  private long bytes;

  /**
   * For so many files.
   *
   * @param files how many may be held at once
   */
  public OpenFiles(int files) {
    chunk = (int) Math.max(SMALLEST_CHUNK, Math.min(LARGEST_CHUNK, HELD / Math.max(1, files)));
  }

  /** Opens a file, for the first time or once more. */
  @FunctionalInterface
  public interface Opening {
    Stored open() throws IOException;
  }

  /** How much of a file is read at once, bytes. */
  public int chunk() {
    return chunk;
  }

  /**
   * A file that is open when it is read, and may be closed in between.
   *
   * @param first it, if it is open already; null: not yet
   */
  public Stored file(Opening opening, @Nullable Stored first) throws IOException {
    var file = new Pooled(opening);
    if (first != null) {
      opened(file, first);
    }
    return file;
  }

  private void opened(Pooled file, Stored in) throws IOException {
    open.put(file, in);
    if (open.size() > MOST) {
      Iterator<Map.Entry<Pooled, Stored>> all = open.entrySet().iterator();
      Stored eldest = all.next().getValue();
      all.remove();
      eldest.close();
    }
  }

  /** Closes all that are open, where nothing is read for a while. */
  public void closeAll() throws IOException {
    for (Stored in : open.values()) {
      in.close();
    }
    open.clear();
  }

  /** Notes what a cursor holds now, and has those forget theirs that were used longest ago. */
  void holds(DataFileCursor cursor, int now) {
    Integer before = held.put(cursor, now);
    bytes += now - (before == null ? 0 : before);
    while (bytes > HELD && held.size() > 1) {
      Iterator<Map.Entry<DataFileCursor, Integer>> all = held.entrySet().iterator();
      Map.Entry<DataFileCursor, Integer> eldest = all.next();
      bytes -= eldest.getValue();
      eldest.getKey().forget();
      all.remove();
    }
  }

  /** A cursor holds nothing any more. */
  void ended(DataFileCursor cursor) {
    Integer before = held.remove(cursor);
    bytes -= before == null ? 0 : before;
  }

  private final class Pooled implements Stored {
    private final Opening opening;

    Pooled(Opening opening) {
      this.opening = opening;
    }

    private Stored in() throws IOException {
      Stored in = open.get(this);
      if (in == null) {
        in = opening.open();
        opened(this, in);
      }
      return in;
    }

    @Override
    public int read(ByteBuffer into, long offset) throws IOException {
      return in().read(into, offset);
    }

    @Override
    public long size() throws IOException {
      return in().size();
    }

    @Override
    public void close() throws IOException {
      Stored in = open.remove(this);
      if (in != null) {
        in.close();
      }
    }
  }
}
