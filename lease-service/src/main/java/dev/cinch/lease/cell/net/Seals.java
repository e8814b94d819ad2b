package dev.cinch.lease.cell.net;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;

import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import javax.crypto.Mac;
import org.jspecify.annotations.Nullable;

/**
 * What datagrams are authenticated with: the first 16 bytes of HMAC-SHA-256 of all before, with the
 * cell's key or one made of it. Not thread-safe.
 */
final class Seals {
  static final int BYTES = 16;

  /** Of clients' passes so many are remembered: made anew, a seal costs two more hashes. */
  private static final int REMEMBERED = 256;

  /** One key. */
  static final class Seal {
    private final Mac mac;
    private final byte[] tag;

    /** What the key permits; null if all. */
    final @Nullable CellPass pass;

    Seal(byte[] key, @Nullable CellPass pass) {
      this.mac = CellPass.mac(key);
      this.tag = new byte[mac.getMacLength()];
      this.pass = pass;
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
    void seal(ByteBuffer out) {
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

  private final Supplier<CellKey> source;
  private CellKey key;
  private List<Seal> own;
  private final Map<String, Seal> passes =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Seal> eldest) {
          return size() > REMEMBERED;
        }
      };

  /**
   * @param source of the key, as it is now; must not wait
   */
  Seals(Supplier<CellKey> source) {
    this.source = source;
    this.key = source.get();
    this.own = seals(key);
  }

  private static List<Seal> seals(CellKey key) {
    var seals = new ArrayList<Seal>();
    key.keys().forEach(each -> seals.add(new Seal(each, key.pass())));
    return seals;
  }

  private void refresh() {
    CellKey now = source.get();
    if (now != key) {
      key = now;
      own = seals(now);
      passes.clear();
    }
  }

  /** What this member sends with. */
  Seal own() {
    refresh();
    return own.get(0);
  }

  /** Which key sealed a datagram that says nothing of a pass; null if none that counts. */
  @Nullable Seal ofCell(ByteBuffer in) {
    refresh();
    for (Seal seal : own) {
      if (seal.isOn(in)) {
        return seal;
      }
    }
    return null;
  }

  /**
   * The seal of a pass, if that has sealed a datagram; null if not.
   *
   * @param text what the datagram says of its pass
   */
  @Nullable Seal ofPass(ByteBuffer in, byte[] text) {
    refresh();
    String known = new String(text, ISO_8859_1);
    Seal remembered = passes.get(known);
    if (remembered != null && remembered.isOn(in)) {
      return remembered;
    }
    try {
      CellPass pass = CellPass.parse(new String(text, US_ASCII));
      for (byte[] each : key.keys()) {
        var seal = new Seal(pass.key(each), pass);
        if (pass.text().equals(known) && seal.isOn(in)) {
          passes.put(known, seal); // those that are authentic alone, so that strangers fill nothing
          return seal;
        }
      }
    } catch (IllegalArgumentException e) {
      return null;
    }
    return null;
  }
}
