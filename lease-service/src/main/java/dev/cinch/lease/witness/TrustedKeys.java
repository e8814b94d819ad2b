package dev.cinch.lease.witness;

import dev.cinch.lease.Sha256;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The public keys whose witnesses count, in the order in which they became trusted. Keys are added
 * at the end and never removed; what was decided when there were {@code n} is decided again with
 * {@link #first} {@code n} of them (rule F3). Immutable and thread-safe.
 *
 * @param list in order
 */
public record TrustedKeys(List<PublicKey> list) {
  /** No key: nothing is trusted. */
  public static final TrustedKeys NONE = new TrustedKeys(List.of());

  public TrustedKeys {
    list = List.copyOf(list);
  }

  public static TrustedKeys of(PublicKey... keys) {
    return new TrustedKeys(List.of(keys));
  }

  public int size() {
    return list.size();
  }

  /**
   * The first {@code n} keys.
   *
   * @throws IllegalArgumentException if there are fewer
   */
  public TrustedKeys first(int n) {
    if (n < 0 || n > list.size()) {
      throw new IllegalArgumentException("the first " + n + " of " + list.size() + " trusted keys");
    }
    return new TrustedKeys(list.subList(0, n));
  }

  /**
   * When leases are over at the latest that a key may sign; {@link PublicKey#NEVER} also of one
   * that is none of these.
   */
  public long end(PublicKey key) {
    return list.stream()
        .filter(key::isSame)
        .mapToLong(PublicKey::end)
        .max()
        .orElse(PublicKey.NEVER);
  }

  /** SHA-256 of the keys' bytes, one key after another, as 64 hexadecimal digits. */
  public String digest() {
    byte[][] parts = list.stream().map(PublicKey::bytes).toArray(byte[][]::new);
    return HexFormat.of().formatHex(Sha256.of(parts));
  }

  /** The key ids in order. */
  @Override
  public String toString() {
    return list.stream().map(PublicKey::idText).collect(Collectors.joining(", ", "[", "]"));
  }
}
