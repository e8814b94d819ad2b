package dev.cinch.bag.layout;

import java.util.Optional;

/**
 * The name of a segment's seal: an empty file beside the segment that says which bytes that one
 * holds, so that none changes, and it does not vanish, unnoticed before a checkpoint names them.
 *
 * @param number of the segment
 * @param index SHA-256 of its header, index block and trailer, 64 lower-case hexadecimal digits
 * @param sha256 of the whole file, the same way
 */
public record SegmentSeal(long number, String index, String sha256) {

  /** The seal that a name is of; empty for a name of another kind. */
  public static Optional<SegmentSeal> parse(String name) {
    int dot = name.lastIndexOf('.');
    Optional<SealName> first = dot < 0 ? Optional.empty() : SealName.parse(name.substring(0, dot));
    if (first.isEmpty() || !SealName.isDigest(name.substring(dot + 1))) {
      return Optional.empty();
    }
    SealName seal = first.get();
    return Optional.of(new SegmentSeal(seal.number(), seal.digest(), name.substring(dot + 1)));
  }

  @Override
  public String toString() {
    return new SealName(number, index) + "." + sha256;
  }
}
