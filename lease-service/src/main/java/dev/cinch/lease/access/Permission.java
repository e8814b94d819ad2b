package dev.cinch.lease.access;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.OneLine;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * A right on the leases whose names begin with a prefix. As text {@code acquire:jobs/}; {@code
 * admin}, which is on all names, has no prefix. Immutable and thread-safe.
 *
 * @param prefix of names; empty for all
 */
@CheckReturnValue
public record Permission(Right right, String prefix) {
  /** The longest prefix: that of a name, in bytes. */
  private static final int MAX_PREFIX = 255;

  /** What a caller may do. Every right has {@link #OBSERVE} in it. */
  public enum Right {
    /** To see leases, and to watch them. */
    OBSERVE,
    /** To take leases, and to renew, resume, upgrade and release what was taken. */
    ACQUIRE,
    /** To have others' leases prolonged no more (rule L15). */
    REVOKE,
    /** All of it, on all names. */
    ADMIN;

    /** In lower case, as people write it. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * @throws IllegalArgumentException if the prefix is none of a name's, or belongs to {@link
   *     Right#ADMIN}
   */
  public Permission {
    if (right == Right.ADMIN && !prefix.isEmpty()) {
      throw new IllegalArgumentException("admin is on all names, and has no prefix");
    }
    boolean named = prefix.matches("(?:[A-Za-z0-9][A-Za-z0-9._:/@-]*)?");
    if (!named || prefix.length() > MAX_PREFIX) {
      throw new IllegalArgumentException(
          "no lease's name begins with \"" + OneLine.of(prefix, 40) + "\"");
    }
  }

  /**
   * Reads one.
   *
   * @param text like {@code acquire:jobs/}; {@code acquire} alone is on all names
   * @throws IllegalArgumentException one line that says what is wrong
   */
  public static Permission parse(String text) {
    int colon = text.indexOf(':');
    String name = colon < 0 ? text : text.substring(0, colon);
    for (Right right : Right.values()) {
      if (right.toString().equals(name)) {
        return new Permission(right, colon < 0 ? "" : text.substring(colon + 1));
      }
    }
    String rights =
        Arrays.stream(Right.values()).map(Right::toString).collect(Collectors.joining(", "));
    throw new IllegalArgumentException(
        "no right: \"" + OneLine.of(name, 40) + "\"; there are " + rights);
  }

  /** Whether it is enough for this on all names that begin so. */
  boolean allows(Right wanted, String beginning) {
    boolean enough = right == wanted || right == Right.ADMIN || wanted == Right.OBSERVE;
    return enough && beginning.startsWith(prefix);
  }

  /** Whether any of them is. */
  static boolean allow(List<Permission> all, Right wanted, String beginning) {
    return all.stream().anyMatch(p -> p.allows(wanted, beginning));
  }

  @Override
  public String toString() {
    return prefix.isEmpty() ? right.toString() : right + ":" + prefix;
  }
}
