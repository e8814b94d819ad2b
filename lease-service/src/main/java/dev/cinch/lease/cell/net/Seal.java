package dev.cinch.lease.cell.net;

import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import javax.crypto.Mac;

/**
 * What datagrams are authenticated with: the first 16 bytes of HMAC-SHA-256 of all before, with the
 * cell's key. Not thread-safe.
 */
final class Seal {
  static final int BYTES = 16;

  private final Mac mac;
  private final byte[] tag;

  Seal(CellKey key) {
    this.mac = key.mac();
    this.tag = new byte[mac.getMacLength()];
  }

  private void compute(byte[] bytes, int count) {
    mac.update(bytes, 0, count);
    try {
      mac.doFinal(tag, 0);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("the array is as long as the code", e);
    }
  }

  /** Ends a datagram. */
  void put(ByteBuffer out) {
    compute(out.array(), out.position());
    out.put(tag, 0, BYTES);
  }

  /** Whether it has sealed a datagram. Compares all bytes, so that the time tells nothing. */
  boolean isOn(ByteBuffer in) {
    int sealed = in.limit() - BYTES;
    compute(in.array(), sealed);
    int differing = 0;
    for (int i = 0; i < BYTES; i++) {
      differing |= tag[i] ^ in.get(sealed + i);
    }
    return differing == 0;
  }
}
