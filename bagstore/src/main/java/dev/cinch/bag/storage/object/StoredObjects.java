package dev.cinch.bag.storage.object;

import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.storage.object.Objects.Got;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;

/**
 * Objects that are read as one, one behind the other, in windows. Those that are read on from where
 * the last read ended get wider ones. Not thread-safe.
 */
final class StoredObjects implements Stored {
  static final int NARROWEST = 1 << 16;
  private static final int WIDEST = 1 << 22;

  /** So many windows are on their way while one is read. */
  private static final int AHEAD = 3;

  private final Requests requests;
  private final Name whole;
  private final Semaphore budget;
  private final List<Name> objects;

  /** Where each ends. */
  private final long[] ends;

  private byte[] window = new byte[0];
  private long windowAt;
  private int width = NARROWEST;

  /** What stands behind the window, on its way; and where that ends. */
  private final ArrayDeque<Ahead> ahead = new ArrayDeque<>();

  private long aheadEnds;

  private record Ahead(long at, Future<byte[]> bytes) {}

  /**
   * @param begin of an object that is all
   */
  StoredObjects(Requests requests, Name whole, Got begin, Semaphore budget) {
    this(requests, whole, List.of(whole), new long[] {begin.size()}, budget);
    this.window = begin.bytes();
  }

  /**
   * @param whole what they are together
   * @param sizes of the objects, bytes
   * @param budget of windows that are on their way while one is read, here and elsewhere
   */
  StoredObjects(Requests requests, Name whole, List<Name> objects, long[] sizes, Semaphore budget) {
    this.budget = budget;
    this.requests = requests;
    this.whole = whole;
    this.objects = objects;
    this.ends = sizes;
    for (int i = 1; i < ends.length; i++) {
      ends[i] += ends[i - 1];
    }
  }

  @Override
  public long size() {
    return ends.length == 0 ? 0 : ends[ends.length - 1];
  }

  @Override
  public int read(ByteBuffer into, long offset) throws IOException {
    int count = 0;
    while (into.hasRemaining() && offset + count < size()) {
      long at = offset + count;
      if (at < windowAt || at >= windowAt + window.length) {
        fill(at, into.remaining());
      }
      int from = (int) (at - windowAt);
      int length = Math.min(into.remaining(), window.length - from);
      into.put(window, from, length);
      count += length;
    }
    return count;
  }

  private void fill(long at, int needed) throws IOException {
    boolean goesOn = at == windowAt + window.length;
    width = goesOn ? Math.min(2 * width, WIDEST) : NARROWEST;
    int index = indexOf(at);
    long begins = index == 0 ? 0 : ends[index - 1];
    // Those that begin at the end read what stands before it next.
    long from = goesOn ? at : Math.min(at, Math.max(begins, size() - width));
    int most = (int) Math.min(Math.max(at - from + needed, width), ends[index] - from);
    Optional<byte[]> came = goesOn ? cameAhead(from) : Optional.empty();
    if (came.isPresent()) {
      window = came.get();
    } else {
      dropAhead();
      window = get(objects.get(index), from - begins, most);
    }
    windowAt = from;
    if (from + window.length <= at) {
      throw new IOException(objects.get(index) + " is shorter than it was");
    }
    if (width == WIDEST) {
      readAhead();
    }
  }

  private int indexOf(long at) {
    int index = 0;
    while (ends[index] <= at) {
      index++;
    }
    return index;
  }

  /** While one window is decoded the next ones come: each would wait for the server alone. */
  private void readAhead() {
    if (ahead.isEmpty()) {
      aheadEnds = windowAt + window.length;
    }
    while (ahead.size() < AHEAD && aheadEnds < size() && budget.tryAcquire()) {
      int index = indexOf(aheadEnds);
      long from = aheadEnds - (index == 0 ? 0 : ends[index - 1]);
      int most = (int) Math.min(WIDEST, ends[index] - aheadEnds);
      var task = new FutureTask<>(() -> get(objects.get(index), from, most));
      var thread = new Thread(task, "cinch-read-ahead");
      thread.setDaemon(true);
      thread.start();
      ahead.add(new Ahead(aheadEnds, task));
      aheadEnds += most;
    }
  }

  /** What was read ahead from there on; empty where nothing was, or that failed. */
  private Optional<byte[]> cameAhead(long from) throws InterruptedIOException {
    Ahead next = ahead.peek();
    if (next == null || next.at != from) {
      return Optional.empty();
    }
    try {
      byte[] bytes = next.bytes.get();
      ahead.remove();
      budget.release();
      return Optional.of(bytes);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while reading " + whole);
    } catch (ExecutionException e) {
      return Optional.empty(); // it is asked for again, and says then what is wrong
    }
  }

  private void dropAhead() {
    budget.release(ahead.size());
    ahead.clear();
  }

  private byte[] get(Name object, long from, int most) throws IOException {
    try {
      return requests.get(object, from, most).bytes();
    } catch (NoSuchFileException e) {
      if (requests.isThere(whole)) { // else all is gone, as what was retired goes
        throw new DamagedException(whole, 0, "its part " + object, "no object");
      }
      throw e;
    }
  }

  @Override
  public void close() {
    dropAhead();
  }
}
