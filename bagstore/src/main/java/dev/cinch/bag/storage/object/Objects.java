package dev.cinch.bag.storage.object;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;

/**
 * The objects of one bucket of an object store. Each request is sent once, and no request is made
 * again. Thread-safe.
 *
 * <p>A request that was sent may be carried out at any later time, also one that failed. A refusal
 * changed nothing: {@link java.nio.file.AccessDeniedException} where the credentials are refused,
 * and {@link RefusedException} for the rest. An {@link java.io.InterruptedIOException} says that
 * the thread was interrupted, and its request may be carried out. Messages are one line, which says
 * what to do.
 *
 * <p>A key is a name with slashes. Times are nanoseconds since the Unix epoch by the server's
 * clock, which says whole seconds at times.
 */
public interface Objects {
  /**
   * Puts an object unless there is one.
   *
   * @param body its parts, which stay as they are
   * @return true if the server answered that it made the object; false if only {@link #get} can
   *     tell, also where nobody was reached
   */
  boolean put(String key, ByteBuffer... body) throws IOException;

  /**
   * Gets an object, or a part of it.
   *
   * @param from its first byte; beyond the end there are none
   * @param most how many bytes, at least 1
   * @throws java.nio.file.NoSuchFileException if the server answered that there is none
   * @throws UnansweredException if the server did not answer, or not with the whole part
   */
  Got get(String key, long from, int most) throws IOException;

  /**
   * Bytes of an object.
   *
   * @param size of the whole object
   */
  @SuppressWarnings("ArrayRecordComponent") // read once by who asked
  record Got(byte[] bytes, long size, long changedAt) {}

  /**
   * Objects in the order of their keys, at most 1,000 at once.
   *
   * @param prefix with which their keys begin
   * @param after a key behind which they begin, or what the page before said as its continuation;
   *     empty for all
   * @param places whether those with a slash behind the prefix are told by their {@link
   *     Listing#prefixes} alone
   * @throws UnansweredException if the server did not answer, or not with a whole page
   */
  Listing list(String prefix, String after, boolean places) throws IOException;

  /** An object in a listing. */
  record Listed(String key, long size, long changedAt) {}

  /**
   * One page.
   *
   * @param prefixes up to a slash, which they end with
   * @param continuation where the next page begins; empty for the last page
   */
  record Listing(List<Listed> objects, List<String> prefixes, Optional<String> continuation) {}

  /**
   * Deletes an object. That there is none is no error.
   *
   * @throws UnansweredException if the server did not answer
   */
  void delete(String key) throws IOException;
}
