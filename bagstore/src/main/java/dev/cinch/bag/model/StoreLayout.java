package dev.cinch.bag.model;

import dev.cinch.lease.Id;
import dev.cinch.lease.ShardMap;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where everything of a store stands. With {@link LogLayout} the only place that spells a file
 * name.
 *
 * @param root the store's directory
 */
public record StoreLayout(Name root) {
  /** That of a store in a directory. */
  public StoreLayout(Path root) {
    this(Name.of(root));
  }

  /** The file that makes a directory a store; made last. */
  public static final String SETTINGS = "store.json";

  /** All that stands in a store's directory. */
  public static final Set<String> NAMES =
      Set.of(SETTINGS, "keys", "limits", "service", "clock", "logs", "cuts");

  private static final String SHARD_MAP_PREFIX = "map-";
  private static final Pattern END = Pattern.compile("[0-9a-f]{32}@[0-9]{10}(\\.[1-9][0-9]?)?");
  private static final Pattern CUTS_GONE = Pattern.compile("gone-([0-9]{10})-([0-9]{10})");
  private static final Pattern SHARD_MAP = Pattern.compile("map-([0-9]{10})-([0-9]{4})");

  /** So many places an end, or a revocation, may have had to pass over. */
  public static final int LAST_PLACE = 99;

  /** Settings that never change. */
  public Name settings() {
    return root.resolve(SETTINGS);
  }

  /** What {@link #settings} become while the store is deleted, so that nobody opens it. */
  public Name destroyed() {
    return root.resolve(SETTINGS + ".destroyed");
  }

  /**
   * What {@link #settings} are to become, while a backup is made for the first time or is restored.
   */
  public Name nextSettings() {
    return root.resolve(SETTINGS + ".next");
  }

  /** Trusted keys, numbered. */
  public Name keys() {
    return root.resolve("keys");
  }

  /** Longest lease times, numbered; the last one counts. */
  public Name limits() {
    return root.resolve("limits");
  }

  /** What instances of the lease service have to know of each other. */
  public Name service() {
    return root.resolve("service");
  }

  /** Numbers taken by instances of the lease service (rule L9). */
  public Name instances() {
    return service().resolve("instances");
  }

  /** The file by which a shard map's number is taken (rule L16). */
  public Name shardMap(long number) {
    return instances().resolve(SHARD_MAP_PREFIX + Numbered.name(number));
  }

  /** What is signed of a shard map, beside its number. */
  public static String shardMapName(ShardMap map) {
    return SHARD_MAP_PREFIX + Numbered.name(map.number()) + "-" + Numbered.padded(map.count(), 4);
  }

  /** The map that such a name stands for; empty for others. */
  public static Optional<ShardMap> shardMap(String name) {
    Matcher parts = SHARD_MAP.matcher(name);
    if (!parts.matches()) {
      return Optional.empty();
    }
    long number = Long.parseLong(parts.group(1));
    int count = Integer.parseInt(parts.group(2));
    return number < 1 || count < 1 || count > ShardMap.MAX_SHARDS
        ? Optional.empty()
        : Optional.of(new ShardMap(number, count));
  }

  /** The number that a name in {@link #instances} takes for a shard map; empty for others. */
  public static OptionalLong shardMapNumber(String name) {
    return name.startsWith(SHARD_MAP_PREFIX)
        ? Numbered.parse(name.substring(SHARD_MAP_PREFIX.length()))
        : OptionalLong.empty();
  }

  /** Ceilings published by instances of the lease service (rule L3). */
  public Name ceilings() {
    return service().resolve("ceilings");
  }

  /**
   * Ends of leases, each brought about by one instance of the lease service (rule L11). Made by the
   * first instance that knows of them.
   */
  public Name ends() {
    return service().resolve("ends");
  }

  /**
   * The end of a lease at the instance with this number.
   *
   * @param place 0, or where others have taken all before it what they left there: 1 to {@link
   *     #LAST_PLACE}
   * @throws IllegalArgumentException if no instance has that number
   */
  public Name end(Id correlation, long instance, int place) {
    return ends().resolve(ofLease(correlation, instance, place));
  }

  private static String ofLease(Id correlation, long instance, int place) {
    return correlation + "@" + Numbered.name(instance) + (place == 0 ? "" : "." + place);
  }

  /** Whether something in {@link #ends} is an end, or what was left of making one. */
  public static boolean isEnd(String name) {
    return END.matcher(name).matches() || name.startsWith(Name.TEMPORARY_PREFIX);
  }

  /** Revocations of leases (rule L15). Made with the first one. */
  public Name revocations() {
    return service().resolve("revocations");
  }

  /**
   * The revocation of a lease at the instance with this number.
   *
   * @param place as for {@link #end}
   * @throws IllegalArgumentException if no instance has that number
   */
  public Name revocation(Id correlation, long instance, int place) {
    return revocations().resolve(ofLease(correlation, instance, place));
  }

  /** Whether something in {@link #revocations} is one. */
  public static boolean isRevocation(String name) {
    return END.matcher(name).matches();
  }

  /** Numbered instants (rule H11). Made with the first one. */
  public Name cuts() {
    return root.resolve("cuts");
  }

  /**
   * The cut of a number.
   *
   * @throws IllegalArgumentException if none has that number
   */
  public Name cut(long number) {
    return cuts().resolve(Numbered.name(number));
  }

  /** That the cuts of these numbers are gone, both inclusive. */
  public record CutsGone(long first, long last) {
    /** Whether a number is among them. */
    public boolean has(long number) {
      return first <= number && number <= last;
    }

    /** Whether all of others are among them. */
    public boolean covers(CutsGone other) {
      return has(other.first) && has(other.last);
    }
  }

  /** Where that is said of cuts. */
  public Name cutsGone(CutsGone gone) {
    return cuts().resolve("gone-" + Numbered.name(gone.first) + "-" + Numbered.name(gone.last));
  }

  /** The cuts that such a name says are gone; empty for others. */
  public static Optional<CutsGone> cutsGone(String name) {
    Matcher parts = CUTS_GONE.matcher(name);
    if (!parts.matches()) {
      return Optional.empty();
    }
    var gone = new CutsGone(Long.parseLong(parts.group(1)), Long.parseLong(parts.group(2)));
    return gone.first < 1 || gone.last < gone.first ? Optional.empty() : Optional.of(gone);
  }

  /** Where the filesystem's clock is read. */
  public Name clock() {
    return root.resolve("clock");
  }

  public Name logs() {
    return root.resolve("logs");
  }

  public LogLayout log(LogName name) {
    return new LogLayout(logs().resolve(name.value()), name);
  }

  /** Whether a place is that of a log's segments. */
  public boolean isOfSegments(Name place) {
    return logs().equals(place.parent().parent()) && place.last().equals("segments");
  }

  /** The directories that a new store has, parents first. */
  public List<Name> directories() {
    return List.of(keys(), limits(), service(), instances(), ceilings(), clock(), logs());
  }
}
