package dev.cinch.bag.layout;

import dev.cinch.lease.witness.StoreStatement;
import java.util.Optional;

/**
 * The name of a file that says all by its name, {@code <base>.<signature>}: so a listing tells it
 * to all who may list, whatever the file itself is and whoever may open it.
 *
 * @param base what is signed, with the name of its directory before it
 * @param signature as {@link StoreStatement} has it
 */
public record SignedName(String base, String signature) {
  /** The parts of a name; empty for one that has no place for a signature. */
  public static Optional<SignedName> parse(String name) {
    int dot = name.length() - StoreStatement.DIGITS - 1;
    return dot > 0 && name.charAt(dot) == '.'
        ? Optional.of(new SignedName(name.substring(0, dot), name.substring(dot + 1)))
        : Optional.empty();
  }

  @Override
  public String toString() {
    return base + "." + signature;
  }
}
