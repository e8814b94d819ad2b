package dev.cinch.bag.storage.object;

import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Stored;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Objects that are read as one, one behind the other, in windows. Those that are read on from where
 * the last read ended get wider ones. Not thread-safe.
 */
final class StoredObjects implements Stored {
  private static final int NARROWEST = 1 << 16;
  private static final int WIDEST = 1 << 22;

  private final Requests requests;
  private final List<Name> objects;

  /** Where each ends. */
  private final long[] ends;

  private byte[] window = new byte[0];
  private long windowAt;
  private int width = NARROWEST;

  /**
   * @param sizes of the objects, bytes
   */
  StoredObjects(Requests requests, List<Name> objects, long[] sizes) {
    this.requests = requests;
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
    int index = 0;
    while (ends[index] <= at) {
      index++;
    }
    boolean goesOn = at == windowAt + window.length;
    width = goesOn ? Math.min(2 * width, WIDEST) : NARROWEST;
    int most = (int) Math.min(Math.max(needed, width), ends[index] - at);
    long begins = index == 0 ? 0 : ends[index - 1];
    byte[] bytes = requests.get(objects.get(index), at - begins, most).bytes();
    if (bytes.length == 0) {
      throw new IOException(objects.get(index) + " is shorter than it was");
    }
    window = bytes;
    windowAt = at;
  }

  @Override
  public void close() {}
}
