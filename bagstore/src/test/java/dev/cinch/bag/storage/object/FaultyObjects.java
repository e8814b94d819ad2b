package dev.cinch.bag.storage.object;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * An object store behind a bad network: answers are lost, requests are turned away or come twice,
 * and some are carried out once more at any later time. Thread-safe.
 */
public final class FaultyObjects implements Objects {
  private final Objects inner;
  private final Random random;
  private final boolean again;
  private final List<Change> sent = new ArrayList<>();

  private interface Change {
    boolean now() throws IOException;
  }

  /**
   * @param again whether requests may be carried out again, after others
   */
  public FaultyObjects(Objects inner, long seed, boolean again) {
    this.inner = inner;
    this.random = new Random(seed);
    this.again = again;
  }

  private synchronized boolean change(Change change) throws IOException {
    sent.add(change);
    if (again && random.nextInt(4) == 0) {
      boolean unused = sent.get(random.nextInt(sent.size())).now();
    }
    boolean done = false;
    int fault = random.nextInt(8);
    for (int i = fault == 0 ? 1 : 0; i < (fault == 1 ? 2 : 1); i++) {
      done = change.now();
    }
    if (fault == 2 || (fault == 0 && random.nextBoolean())) {
      throw new UnansweredException("cut off");
    }
    return fault != 0 && done;
  }

  private synchronized void answer() throws IOException {
    if (random.nextInt(8) == 0) {
      throw new UnansweredException("cut off");
    }
  }

  @Override
  public boolean put(String key, ByteBuffer... body) throws IOException {
    var kept = new ByteBuffer[body.length];
    for (int i = 0; i < body.length; i++) {
      ByteBuffer part = body[i].duplicate();
      kept[i] = ByteBuffer.allocate(part.remaining()).put(part).flip();
    }
    return change(() -> inner.put(key, kept));
  }

  @Override
  public Got get(String key, long from, int most) throws IOException {
    answer();
    return inner.get(key, from, most);
  }

  @Override
  public Listing list(String prefix, String after, boolean places) throws IOException {
    answer();
    return inner.list(prefix, after, places);
  }

  @Override
  public void delete(String key) throws IOException {
    boolean unused =
        change(
            () -> {
              inner.delete(key);
              return true;
            });
  }
}
