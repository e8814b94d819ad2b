package dev.cinch.lease.cell.explore;

import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** All scenarios, until one goes wrong: for rules that are broken on purpose, or to see figures. */
public final class Exploration {
  private Exploration() {}

  /**
   * The scenario that goes wrong first, and how; null if none does.
   *
   * @param of the start of a subject's name
   */
  public static @Nullable String failure(String of, long most) {
    for (Scenario s : Stream.concat(Scenario.SHARE.stream(), Scenario.ALL.stream()).toList()) {
      if (s.subject().name().startsWith(of)) {
        var explorer = new Explorer(s.subject(), s.bounds(), Math.min(most, s.most()));
        String way = explorer.run();
        if (way != null) {
          return explorer.states() + ": " + explorer + "\n" + way;
        }
      }
    }
    return null;
  }

  public static void main(String[] args) {
    for (Scenario s : Stream.concat(Scenario.SHARE.stream(), Scenario.ALL.stream()).toList()) {
      if (s.subject().name().startsWith(args[0])) {
        var explorer = new Explorer(s.subject(), s.bounds(), Long.parseLong(args[1]));
        String way = explorer.run();
        System.out.println(explorer + (way == null ? "" : "\n" + way));
      }
    }
  }
}
