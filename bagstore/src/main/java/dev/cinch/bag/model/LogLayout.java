package dev.cinch.bag.model;

import dev.cinch.lease.Id;
import java.util.Collection;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Where everything of a log stands.
 *
 * <p>Buckets stand three levels deep, {@code buckets/<era>/<group>/<bucket>}, each level named
 * after the time at which it starts: a group holds {@value #FAN_OUT} buckets and an era as many
 * groups, so that no directory that a closer must list grows with the age of the log. Records stand
 * in groups of {@value #RECORDS_PER_GROUP} for the same reason.
 *
 * @param root the log's directory
 * @param name the log's name
 */
public record LogLayout(Name root, LogName name) {
  /** Buckets in a group, and groups in an era. */
  public static final int FAN_OUT = 256;

  /** Records in one directory. */
  public static final int RECORDS_PER_GROUP = 1000;

  /** All that stands in a log's directory. */
  public static final Set<String> NAMES =
      Set.of("identity", "removed", "buckets", "horizon", "segments", "table", "latest");

  /** All that stands in {@link #horizon}. */
  public static final Set<String> HORIZON_NAMES =
      Set.of("records", "intents", "checkpoints", "notices");

  private static final String PRELOCK = "prelock";
  private static final String LOCK = "lock";

  /** What closes a bucket; everything else in it is a data file, or foreign. */
  public static final Set<String> MARKS = Set.of(PRELOCK, LOCK);

  private static final int RECORD_GROUP_DIGITS = 7;
  private static final String FLOOR_PREFIX = "floor-";
  private static final String END_PREFIX = "end-";
  private static final String DATA_SUFFIX = ".log";

  /** Id and date of birth; published last when a log is made. */
  public Name identity() {
    return root.resolve("identity");
  }

  /** Says that the log was removed; stays in place of the identity. */
  public Name removed() {
    return root.resolve("removed");
  }

  public Name buckets() {
    return root.resolve("buckets");
  }

  public Name era(Bucket bucket) {
    return buckets().resolve(TimeName.of(eraStart(bucket)));
  }

  public Name group(Bucket bucket) {
    return era(bucket).resolve(TimeName.of(groupStart(bucket)));
  }

  public Name bucket(Bucket bucket) {
    return group(bucket).resolve(TimeName.of(bucket.start()));
  }

  /**
   * The starts of what stands in a directory of the tree of buckets, ascending. The name of a time
   * that does not belong there is like any other name: nobody looks for it there.
   *
   * @param directory of eras, or the era or group whose name it has
   * @param names in it
   * @param from only what ends after that
   * @param to only what starts before that
   * @param width of each: of an era, a group or a bucket
   */
  public static List<Long> starts(
      Name directory, Collection<String> names, long from, long to, long width) {
    OptionalLong parent = TimeName.parse(directory.last());
    return names.stream()
        .map(TimeName::parse)
        .flatMapToLong(OptionalLong::stream)
        .filter(start -> Math.floorMod(start, width) == 0)
        .filter(start -> parent.isEmpty() || isIn(start, parent.getAsLong(), width * FAN_OUT))
        .filter(start -> start < to && (start >= from || start + width > from))
        .sorted()
        .boxed()
        .toList();
  }

  private static boolean isIn(long start, long parent, long span) {
    return start >= parent && start - parent < span;
  }

  /**
   * Whether a bucket starts there, in an era that does, and ends in time: what comes from anywhere
   * may lie before the first one, or be the last before 2^63, which ends behind that.
   */
  public static boolean hasPlace(long start, long width) {
    long era = eraWidth(width);
    return Math.floorMod(start, width) == 0
        && start <= Long.MAX_VALUE - width
        && Math.floorDiv(start, era) > Math.floorDiv(Long.MIN_VALUE, era);
  }

  public static long eraStart(Bucket bucket) {
    return Bucket.floor(bucket.start(), eraWidth(bucket.width()));
  }

  public static long groupStart(Bucket bucket) {
    return Bucket.floor(bucket.start(), groupWidth(bucket.width()));
  }

  public static long groupWidth(long width) {
    return width * FAN_OUT;
  }

  public static long eraWidth(long width) {
    return width * FAN_OUT * FAN_OUT;
  }

  public static Name prelock(Name bucket) {
    return bucket.resolve(PRELOCK);
  }

  /** Whether a listing of a bucket has its lock. */
  public static boolean hasLock(List<String> names) {
    return names.contains(LOCK);
  }

  public static Name lock(Name bucket) {
    return bucket.resolve(LOCK);
  }

  public static Name dataFile(Name bucket, DataFileName name) {
    return bucket.resolve(name.toString());
  }

  public static boolean isDataFile(String name) {
    return name.endsWith(DATA_SUFFIX) && !Name.isTemporary(name);
  }

  /**
   * Whether an NFS client gave a file this name that was removed while a process had it open. It
   * goes when that process closes it; until then that client alone can't remove it.
   */
  public static boolean isHeldOpen(String name) {
    return name.startsWith(".nfs");
  }

  public Name horizon() {
    return root.resolve("horizon");
  }

  public Name records() {
    return horizon().resolve("records");
  }

  /** The directory of the records {@code group * 1000 + 1} to {@code (group + 1) * 1000}. */
  public Name recordGroup(long group) {
    return records().resolve(Numbered.padded(group, RECORD_GROUP_DIGITS));
  }

  /** The number of a group of records; empty for a name of another kind. */
  public static OptionalLong recordGroupNumber(String name) {
    return Numbered.parse(name, RECORD_GROUP_DIGITS);
  }

  public static long groupOfRecord(long number) {
    return (number - 1) / RECORDS_PER_GROUP;
  }

  public Name record(long number) {
    return recordGroup(groupOfRecord(number)).resolve(Numbered.name(number));
  }

  /** Says what bytes a record holds; see {@link SealName}. */
  public Name recordSeal(long number, String digest) {
    return recordGroup(groupOfRecord(number)).resolve(new SealName(number, digest).toString());
  }

  public Name intents() {
    return horizon().resolve("intents");
  }

  public Name intent(long to, Id closer) {
    return intents().resolve(TimeName.of(to) + "-" + closer);
  }

  /** The intent of whoever removes the log: it reaches every bucket (rule H8). */
  public Name endIntent(Id closer) {
    return intents().resolve(END_PREFIX + closer);
  }

  /**
   * The boundary that an intent reaches, {@link Long#MAX_VALUE} for the end of time; empty for a
   * name of another kind.
   */
  public static OptionalLong intentReach(String name) {
    if (name.startsWith(END_PREFIX)) {
      return OptionalLong.of(Long.MAX_VALUE);
    }
    int dash = name.indexOf('-');
    return dash < 0 ? OptionalLong.empty() : TimeName.parse(name.substring(0, dash));
  }

  public Name checkpoints() {
    return horizon().resolve("checkpoints");
  }

  public Name checkpoint(long number) {
    return checkpoints().resolve(Numbered.name(number));
  }

  /** What an object store has beside checkpoints. */
  public Name notices() {
    return horizon().resolve("notices");
  }

  /** Says that the segments up to a number expired. */
  public Name floor(long segment) {
    return checkpoints().resolve(FLOOR_PREFIX + Numbered.name(segment));
  }

  /** The number of the last segment that a floor drops; empty for a name of another kind. */
  public static OptionalLong floorNumber(String name) {
    return name.startsWith(FLOOR_PREFIX)
        ? Numbered.parse(name.substring(FLOOR_PREFIX.length()))
        : OptionalLong.empty();
  }

  public Name segments() {
    return root.resolve("segments");
  }

  public Name segment(long number) {
    return segments().resolve(Numbered.name(number));
  }

  /** The table of all messages, for other engines. */
  public TableLayout table() {
    return new TableLayout(root.resolve("table"));
  }

  /** The table of the last message of each key. */
  public TableLayout latest() {
    return new TableLayout(root.resolve("latest"));
  }

  /** Both. */
  public List<TableLayout> tables() {
    return List.of(table(), latest());
  }
}
