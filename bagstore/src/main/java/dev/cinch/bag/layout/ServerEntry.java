package dev.cinch.bag.layout;

import java.util.Optional;
import java.util.OptionalLong;

/**
 * The name of the file that says where one more server of an instance is: {@code
 * <instance>+<server>} beside its number (rule L9).
 *
 * @param instance its number
 * @param server 1 to 99, in the order in which they joined
 */
public record ServerEntry(long instance, int server) {
  /** The most servers that can join an instance. */
  public static final int MOST = 99;

  private static final int NUMBER = 10;
  private static final int SERVER = 2;

  /** The entry that a name stands for; empty for a name of another kind. */
  public static Optional<ServerEntry> parse(String name) {
    if (name.length() != NUMBER + 1 + SERVER || name.charAt(NUMBER) != '+') {
      return Optional.empty();
    }
    OptionalLong instance = Numbered.parse(name.substring(0, NUMBER));
    OptionalLong server = Numbered.parse(name.substring(NUMBER + 1), SERVER);
    return instance.isEmpty() || server.orElse(0) < 1
        ? Optional.empty()
        : Optional.of(new ServerEntry(instance.getAsLong(), (int) server.getAsLong()));
  }

  @Override
  public String toString() {
    return Numbered.name(instance) + "+" + Numbered.padded(server, SERVER);
  }
}
