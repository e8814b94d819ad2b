package dev.cinch.bag.storage.object;

import java.io.IOException;
import java.nio.ByteBuffer;

/** Passes each request on, for tests that change some of them. */
public class PassingObjects implements Objects {
  private final Objects inner;

  public PassingObjects(Objects inner) {
    this.inner = inner;
  }

  @Override
  public boolean put(String key, ByteBuffer... body) throws IOException {
    return inner.put(key, body);
  }

  @Override
  public Got get(String key, long from, int most) throws IOException {
    return inner.get(key, from, most);
  }

  @Override
  public Listing list(String prefix, String after, boolean places) throws IOException {
    return inner.list(prefix, after, places);
  }

  @Override
  public void delete(String key) throws IOException {
    inner.delete(key);
  }
}
