package dev.cinch.cli.base;

import dev.cinch.bag.Log;
import dev.cinch.bag.NotAStoreException;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.PatternSyntaxException;
import picocli.CommandLine.Option;

/** Which logs to read: one, or several as one stream. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class LogChoice {
  @Option(
      names = "--log",
      paramLabel = "NAME",
      description = "The log. Several are one stream: give it again, or a pattern, like 'jobs-*'.")
  List<Chosen> names = new ArrayList<>();

  @Option(names = "--all", description = "All logs as one stream; so it is with --lease alone.")
  boolean all;

  /** A log's name, or a pattern of names as a shell has them. */
  public record Chosen(String text, boolean pattern) {
    /**
     * @throws IllegalArgumentException if it is neither; the message is for the user
     */
    static Chosen parse(String text) {
      if (text.chars().anyMatch(c -> "*?[{".indexOf(c) >= 0)) {
        PathMatcher unused = matcher(text); // or it is none
        return new Chosen(text, true);
      }
      return new Chosen(new LogName(text).value(), false);
    }

    private static PathMatcher matcher(String text) {
      try {
        return FileSystems.getDefault().getPathMatcher("glob:" + text);
      } catch (PatternSyntaxException e) {
        throw new IllegalArgumentException("not a pattern of log names: \"" + text + "\"", e);
      }
    }
  }

  /** Whether one log was named, which may be read in all ways. */
  public boolean isOne() {
    return !all && names.stream().distinct().count() == 1 && !names.get(0).pattern();
  }

  /** Whether any were named, or all. */
  public boolean isGiven() {
    return all || !names.isEmpty();
  }

  /**
   * Those of some that were named, or all of them if none was.
   *
   * @param whose of what they are all, for the message
   */
  public List<LogName> among(List<LogName> these, String whose) {
    var found = new TreeSet<LogName>(names.isEmpty() ? these : List.of());
    for (Chosen name : names) {
      List<LogName> same =
          these.stream()
              .filter(
                  name.pattern()
                      ? log -> Chosen.matcher(name.text()).matches(Path.of(log.value()))
                      : log -> log.value().equals(name.text()))
              .toList();
      if (same.isEmpty()) {
        throw new Misuse("%s has no log \"%s\"".formatted(whose, name.text()));
      }
      found.addAll(same);
    }
    if (found.isEmpty()) {
      throw new Misuse(whose + " has no logs: its number is taken, and no more");
    }
    return List.copyOf(found);
  }

  /** Refuses a command line that names none. */
  public void check(boolean byLease) {
    if (all && !names.isEmpty()) {
      throw new Misuse("--all has every log; leave it or --log out");
    }
    if (!all && names.isEmpty() && !byLease) {
      throw new Misuse("name a log: --log NAME, or --all");
    }
  }

  /** Opens them, in the order of their names. */
  public List<Log> open(Store store) throws IOException {
    var logs = new TreeMap<LogName, Log>();
    for (Chosen name : names) {
      if (!name.pattern()) {
        var plain = new LogName(name.text());
        logs.put(plain, store.log(plain));
      }
    }
    beside(store, logs.keySet()).forEach(log -> logs.put(log.name(), log));
    if (logs.isEmpty()) {
      throw new NotAStoreException(
          "no log of %s %s"
              .formatted(
                  store.context().layout().root(),
                  names.isEmpty() ? "was made yet" : "is called like " + names.get(0).text()));
    }
    return List.copyOf(logs.values());
  }

  /** Opens those that a pattern, or the wish for all, has beside some: they were made since. */
  public List<Log> beside(Store store, Set<LogName> known) throws IOException {
    List<PathMatcher> patterns =
        names.stream().filter(Chosen::pattern).map(name -> Chosen.matcher(name.text())).toList();
    if (patterns.isEmpty() && !names.isEmpty()) {
      return List.of();
    }
    List<LogName> others =
        store.permittedLogs().stream()
            .filter(name -> !known.contains(name))
            .filter(
                name ->
                    names.isEmpty()
                        || patterns.stream().anyMatch(p -> p.matches(Path.of(name.value()))))
            .toList();
    return store.whole(others);
  }
}
