package dev.cinch.lease.witness;

import dev.cinch.lease.Sha256;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BooleanSupplier;

/**
 * Signatures that were found good, the last few thousand. By digests of what they sign, so that
 * none takes more than another: a witness that names a thousand logs takes 100 KB once it is
 * decoded. Thread-safe.
 */
final class GoodSignatures {
  private static final int REMEMBERED = 4_096;

  /** Checks at once that are not of the same signature; a power of two. */
  private static final int LOCKS = 64;

  private final Object[] locks = new Object[LOCKS];

  private final Map<ByteBuffer, Boolean> digests =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<ByteBuffer, Boolean> eldest) {
          return size() > REMEMBERED;
        }
      };

  GoodSignatures() {
    Arrays.setAll(locks, i -> new Object());
  }

  /** What stands for all bytes of a statement, its signature and the key that checked it. */
  static ByteBuffer digest(PublicKey key, byte[] statement, byte[] signature) {
    return ByteBuffer.wrap(Sha256.of(key.bytes(), signature, statement));
  }

  /**
   * Whether a signature is good. Of threads that ask for the same one, as those do whose witnesses
   * share it, one checks it and the others wait.
   *
   * @param checked checks it, which takes a hundred times as long as to remember it
   */
  boolean check(ByteBuffer digest, BooleanSupplier checked) {
    if (has(digest)) {
      return true;
    }
    synchronized (locks[digest.hashCode() & (LOCKS - 1)]) {
      boolean good = has(digest) || checked.getAsBoolean();
      if (good) {
        add(digest);
      }
      return good;
    }
  }

  private synchronized boolean has(ByteBuffer digest) {
    return digests.get(digest) != null;
  }

  private synchronized void add(ByteBuffer digest) {
    digests.put(digest, true);
  }
}
