package dev.cinch.bag.file;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.file.DataFileCursor.OnDamage;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.format.SegmentEncoder;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The data files of one bucket, merged in the total order; each is opened when it is read. Not
 * thread-safe.
 */
@CheckReturnValue
public final class DataFiles implements Evidence.Source {
  private final LogContext log;
  private final Bucket bucket;
  private final WitnessVerifier keys;
  private final OpenFiles files;
  private final List<DataFileCursor> cursors = new ArrayList<>();
  private @Nullable Merge merge;

  /**
   * @param count how many there are, or more
   */
  public DataFiles(LogContext log, Bucket bucket, WitnessVerifier keys, int count) {
    this.log = log;
    this.bucket = bucket;
    this.keys = keys;
    this.files = new OpenFiles(count);
  }

  /** For who judges no leases. */
  public DataFiles(LogContext log, Bucket bucket, int count) {
    this(log, bucket, new WitnessVerifier(TrustedKeys.NONE), count);
  }

  private Stored open(DataFileName name, Freshness freshness) throws IOException {
    return log.storage().open(LogLayout.dataFile(log.layout().bucket(bucket), name), freshness);
  }

  /**
   * Reads a file through, every frame: close, step 3. It may only look torn, or empty, in a cache.
   *
   * @return how much there is of it
   */
  public DataFileExtent measure(DataFileName name) throws IOException {
    Stored in = open(name, Freshness.PERMITTED);
    long size = size(in);
    DataFileExtent cached = extent(name, in, size);
    if (size > 0 && cached.validLength() == size) {
      return cached;
    }
    in = open(name, Freshness.CERTAIN);
    DataFileExtent stored = extent(name, in, size(in));
    return stored.validLength() > cached.validLength() ? stored : cached;
  }

  /**
   * The timestamp of the last message of a file that others may be appending to: what its end says,
   * or all of it where that is torn. Empty if there is none.
   */
  public OptionalLong last(DataFileName name) throws IOException {
    try (Stored in = open(name, Freshness.PERMITTED)) {
      OptionalLong last = DataFileCursor.last(name, in);
      if (last.isPresent()) {
        return last;
      }
    }
    Stored in = open(name, Freshness.PERMITTED);
    try (DataFileCursor m = cursor(name, in, size(in), OnDamage.GO_ON)) {
      boolean any = false;
      while (m.next()) {
        any = true;
      }
      return any ? OptionalLong.of(m.timestamp()) : OptionalLong.empty();
    }
  }

  private DataFileExtent extent(DataFileName name, Stored in, long size) throws IOException {
    try (DataFileCursor m = cursor(name, in, size, OnDamage.GO_ON)) {
      boolean more = true;
      while (more) {
        more = m.next();
      }
      return m.extent();
    }
  }

  private DataFileCursor cursor(DataFileName name, Stored in, long size, OnDamage onDamage) {
    return new DataFileCursor(
        path(name),
        header(name),
        in,
        () -> open(name, Freshness.CERTAIN),
        size,
        onDamage,
        new LeaseTable(keys, log),
        files);
  }

  private FileHeader header(DataFileName name) {
    return new FileHeader(log.store().identity().id(), log.id(), bucket, name);
  }

  /** Where a file stands, for people. */
  private Name path(DataFileName name) {
    return LogLayout.dataFile(log.layout().bucket(bucket), name);
  }

  /** Adds a file that was measured. */
  public void add(DataFileExtent extent, int tag) throws IOException {
    DataFileName name = extent.name();
    var cursor =
        new DataFileCursor(
            path(name),
            header(name),
            files.file(() -> open(name, Freshness.PERMITTED), null),
            () -> open(name, Freshness.CERTAIN),
            extent,
            new LeaseTable(keys, log),
            files);
    cursor.tag = tag;
    cursors.add(cursor);
  }

  /**
   * Adds all of a file that others may be appending to.
   *
   * @param foreign told if it has the name of a data file and is none (rule N7)
   */
  public void addGrowing(DataFileName name, Consumer<ForeignEntryException> foreign)
      throws IOException {
    try {
      Stored in = open(name, Freshness.PERMITTED);
      long size = size(in);
      cursors.add(
          cursor(name, files.file(() -> open(name, Freshness.PERMITTED), in), size, OnDamage.END));
    } catch (ForeignEntryException e) {
      if (!path(name).equals(e.path())) {
        throw e; // the bucket itself
      }
      foreign.accept(e);
    }
  }

  private static long size(Stored in) throws IOException {
    try {
      return in.size();
    } catch (IOException | RuntimeException e) {
      in.close();
      throw e;
    }
  }

  /** The next message of all that were added, in order. */
  @Override
  public @Nullable DataFileCursor pull() throws IOException {
    Merge all = merge;
    if (all == null) {
      all = new Merge(cursors);
      merge = all;
    }
    return all.next();
  }

  /** Nobody has closed the bucket, so nothing is lost yet. */
  @Override
  public List<DamagedException> lost() {
    return List.of();
  }

  /**
   * Puts all messages into a settled file whose bucket was begun.
   *
   * @param count how many files its bucket block lists: above each tag
   */
  public void feed(SegmentEncoder out, int count) throws IOException {
    var known = new LeaseSet[count];
    var numbers = new int[count];
    for (DataFileCursor message = pull(); message != null; message = pull()) {
      LeaseSet set = message.leaseSet();
      if (set == null) {
        numbers[message.tag] = 0;
      } else if (!same(set, known[message.tag])) { // sets are made anew in every batch
        numbers[message.tag] = out.leaseSet(message.signedLeases());
      }
      known[message.tag] = set;
      message.feed(out, numbers[message.tag]);
    }
  }

  @SuppressWarnings("ReferenceEquality") // the same object, or ask the encoder
  private static boolean same(LeaseSet a, @Nullable LeaseSet b) {
    return a == b;
  }

  @Override
  public void close() throws IOException {
    for (DataFileCursor c : cursors) {
      c.close();
    }
  }
}
