package dev.cinch.bag.model;

import java.util.regex.Pattern;

/**
 * The name of a machine that writes: {@code [a-z0-9][a-z0-9._-]{0,62}}, and not {@code tmp-…}, for
 * such names are nobody's data. It need not be unique: data files carry an incarnation too, so two
 * machines of one name do no harm (section 2).
 */
public record MachineName(String value) {
  private static final Pattern ALLOWED = Pattern.compile("[a-z0-9][a-z0-9._-]{0,62}");

  /**
   * @throws IllegalArgumentException if it is no machine name; the message is for the user
   */
  public MachineName {
    Names.check("machine name", value, ALLOWED);
  }

  @Override
  public String toString() {
    return value;
  }
}
