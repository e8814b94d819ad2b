package dev.cinch.lease.witness;

import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Signatures that were found good, the last few thousand. By digests of what they sign, so that
 * none takes more than another: a witness that names a thousand logs takes 100 KB once it is
 * decoded. Thread-safe.
 */
final class GoodSignatures {
  private static final int REMEMBERED = 4_096;

  private final Map<ByteBuffer, Boolean> digests =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<ByteBuffer, Boolean> eldest) {
          return size() > REMEMBERED;
        }
      };

  /** What stands for all bytes of a statement, its signature and the key that checked it. */
  static ByteBuffer digest(PublicKey key, byte[] statement, byte[] signature) {
    return ByteBuffer.wrap(PublicKey.sha256(key.bytes(), signature, statement));
  }

  synchronized boolean has(ByteBuffer digest) {
    return digests.get(digest) != null;
  }

  synchronized void add(ByteBuffer digest) {
    digests.put(digest, true);
  }
}
