package dev.cinch.bag.layout;

import dev.cinch.lease.Id;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Where everything of a store stands. With {@link LogLayout} the only place that spells a file
 * name.
 *
 * @param root the store's directory
 */
public record StoreLayout(Path root) {
  /** The file that makes a directory a store; made last. */
  public static final String SETTINGS = "store.json";

  /** All that stands in a store's directory. */
  public static final Set<String> NAMES =
      Set.of(SETTINGS, "keys", "limits", "service", "clock", "log-names", "logs");

  private static final String SHARD_MAP_PREFIX = "map-";
  private static final Pattern END = Pattern.compile("[0-9a-f]{32}@[0-9]{10}");

  /** Settings that never change. */
  public Path settings() {
    return root.resolve(SETTINGS);
  }

  /** Trusted keys, numbered. */
  public Path keys() {
    return root.resolve("keys");
  }

  /** Longest lease times, numbered; the last one counts. */
  public Path limits() {
    return root.resolve("limits");
  }

  /** What instances of the lease service have to know of each other. */
  public Path service() {
    return root.resolve("service");
  }

  /** Numbers taken by instances of the lease service (rule L9). */
  public Path instances() {
    return service().resolve("instances");
  }

  /** The shard map of that number (rule L16), where instances look for later ones of themselves. */
  public Path shardMap(long number) {
    return instances().resolve(SHARD_MAP_PREFIX + Numbered.name(number));
  }

  /** The number of the shard map that a name in {@link #instances} stands for; empty for others. */
  public static OptionalLong shardMapNumber(String name) {
    return name.startsWith(SHARD_MAP_PREFIX)
        ? Numbered.parse(name.substring(SHARD_MAP_PREFIX.length()))
        : OptionalLong.empty();
  }

  /** Ceilings published by instances of the lease service (rule L3). */
  public Path ceilings() {
    return service().resolve("ceilings");
  }

  /**
   * Ends of leases, each brought about by one instance of the lease service (rule L11). Made by the
   * first instance that knows of them.
   */
  public Path ends() {
    return service().resolve("ends");
  }

  /**
   * The end of a lease at the instance with this number.
   *
   * @throws IllegalArgumentException if no instance has that number
   */
  public Path end(Id correlation, long instance) {
    return ends().resolve(correlation + "@" + Numbered.name(instance));
  }

  /** Whether something in {@link #ends} is an end, or what was left of making one. */
  public static boolean isEnd(String name) {
    return END.matcher(name).matches() || name.startsWith(LogLayout.TEMPORARY_PREFIX);
  }

  /** Revocations of leases (rule L15). Made with the first one. */
  public Path revocations() {
    return service().resolve("revocations");
  }

  /**
   * The revocation of a lease at the instance with this number.
   *
   * @throws IllegalArgumentException if no instance has that number
   */
  public Path revocation(Id correlation, long instance) {
    return revocations().resolve(correlation + "@" + Numbered.name(instance));
  }

  /** Whether something in {@link #revocations} is one. */
  public static boolean isRevocation(String name) {
    return END.matcher(name).matches();
  }

  /** Where the filesystem's clock is read. */
  public Path clock() {
    return root.resolve("clock");
  }

  /** Which logs were made: an empty file for each, so that one that is gone is missed. */
  public Path logNames() {
    return root.resolve("log-names");
  }

  public Path logName(ListedLog log) {
    return logNames().resolve(log.toString());
  }

  public Path logs() {
    return root.resolve("logs");
  }

  public LogLayout log(LogName name) {
    return new LogLayout(logs().resolve(name.value()), name);
  }

  /** The directories that a new store has, parents first. */
  public List<Path> directories() {
    return List.of(
        keys(), limits(), service(), instances(), ceilings(), clock(), logNames(), logs());
  }
}
