package dev.cinch.bag.model;

import java.util.Locale;
import java.util.regex.Pattern;

/**
 * The name of a machine that writes: {@code [a-z0-9][a-z0-9._-]{0,62}}, and not {@code tmp-…}, for
 * such names are nobody's data. It need not be unique: data files carry an incarnation too, so two
 * machines of one name do no harm (section 2).
 */
public record MachineName(String value) {
  private static final Pattern ALLOWED = Pattern.compile("[a-z0-9][a-z0-9._-]{0,62}");
  private static final int LONGEST = 63;

  /**
   * @throws IllegalArgumentException if it is no machine name; the message is for the user
   */
  public MachineName {
    Name.check("machine name", value, ALLOWED);
  }

  /**
   * The name for a host: in lower case, with a dash for whatever a machine name can't have, and
   * without what none begins with.
   */
  public static MachineName ofHost(String host) {
    String name =
        host.toLowerCase(Locale.ROOT)
            .replaceAll("[^a-z0-9._-]", "-")
            .replaceFirst("^([^a-z0-9]|tmp-)+", "");
    return new MachineName(
        name.isEmpty() ? "machine" : name.substring(0, Math.min(LONGEST, name.length())));
  }

  @Override
  public String toString() {
    return value;
  }
}
