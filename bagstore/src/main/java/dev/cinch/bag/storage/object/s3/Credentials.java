package dev.cinch.bag.storage.object.s3;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.util.Optional;

/**
 * Who asks. Its text has no secret. Immutable.
 *
 * @param sessionToken of credentials that expire
 * @param expires nanoseconds since the Unix epoch; {@link Long#MAX_VALUE} if that is not known
 * @param source where they were found, for messages
 */
public record Credentials(
    String keyId, String secret, Optional<String> sessionToken, long expires, String source) {
  @Override
  public String toString() {
    return "access key %s of %s".formatted(keyId, source);
  }

  /** There are none to ask with. */
  static AccessDeniedException none(String line) {
    return new AccessDeniedException(null, null, line);
  }

  /** Who finds them. Thread-safe. */
  public interface Source {
    /**
     * Those that hold now.
     *
     * @throws java.nio.file.AccessDeniedException if there are none
     */
    Credentials current() throws IOException, InterruptedException;

    /** A server refused the last ones, so the next ones are looked for anew. */
    default void refused() {}
  }
}
