package dev.cinch.bag.storage.object;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;

/**
 * What an object store must offer: put if absent, get, list and delete. Each is one request, and
 * none is repeated here. What was put is seen by all who ask later. Any request may be carried out
 * once more at any later time (docs/storage-object.md). Implementations are thread-safe.
 *
 * <p>Keys are those of the bucket. Times are nanoseconds since the Unix epoch, in whole seconds, by
 * the server's clock.
 */
public interface Objects {
  /**
   * Puts an object, unless there is one.
   *
   * @param body in this order; the buffers are left as they were
   * @return whether the server answered that it made it. If not, only a get tells what is there
   * @throws java.nio.file.AccessDeniedException if the server refused it for want of a right
   * @throws RefusedException if the server refused it otherwise; nothing was changed
   */
  boolean put(String key, ByteBuffer... body) throws IOException;

  /**
   * Some bytes of an object.
   *
   * @param from the first one, from 0
   * @param most of them; 0 asks for its size and time alone
   * @throws java.nio.file.NoSuchFileException if there is no such object
   * @throws UnansweredException if the server did not say
   */
  Got get(String key, long from, int most) throws IOException;

  /**
   * A part of an object.
   *
   * @param size of the whole object
   * @param changedAt when it was put
   * @param now when the server answered
   */
  @SuppressWarnings("ArrayRecordComponent") // read once by whoever asked
  record Got(byte[] bytes, long size, long changedAt, long now) {}

  /**
   * The keys that begin so, in the order of their bytes, at most 1,000 at once.
   *
   * @param after what the page before said as its continuation; empty: the first page
   * @param places whether those that have one more slash are told as a prefix, once
   * @throws UnansweredException if the server did not say
   */
  Listing list(String prefix, String after, boolean places) throws IOException;

  /**
   * A page of a listing.
   *
   * @param prefixes what begins a key, up to and with a slash
   * @param continuation where the next page begins; empty: this is the last one
   */
  record Listing(List<Listed> objects, List<String> prefixes, Optional<String> continuation) {}

  /** An object as it is listed; its size in bytes. */
  record Listed(String key, long size, long changedAt) {}

  /**
   * Deletes an object; that it is gone is no error.
   *
   * @throws UnansweredException if the server did not say
   */
  void delete(String key) throws IOException;
}
