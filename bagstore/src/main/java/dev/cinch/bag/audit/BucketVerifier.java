package dev.cinch.bag.audit;

import dev.cinch.bag.close.Locks;
import dev.cinch.bag.close.Locks.Closed;
import dev.cinch.bag.close.UnrecordedLocks;
import dev.cinch.bag.file.DataFileCursor;
import dev.cinch.bag.file.DataFileCursor.OnDamage;
import dev.cinch.bag.file.LeaseSet;
import dev.cinch.bag.file.LeaseTable;
import dev.cinch.bag.file.OpenFiles;
import dev.cinch.bag.file.SegmentCursor;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.file.SegmentVerifier;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.HorizonRecord.Sums;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentBucket.Hole;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Patience;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Checks the buckets of one log. Not thread-safe. */
final class BucketVerifier {
  /** After so many findings in one file the rest of it is not worth a line each. */
  private static final int MOST_FINDINGS = 100;

  private final LogContext log;
  private final Storage storage;
  private final Locks locks;
  private final Patience wait;
  private final Tally tally;

  /** Closed buckets that no record that was read reaches. */
  private final List<Bucket> unrecorded = new ArrayList<>();

  BucketVerifier(LogContext log, Tally tally) {
    this.log = log;
    this.storage = log.storage();
    this.locks = new Locks(log);
    this.wait = locks.patience();
    this.tally = tally;
  }

  /**
   * Checks a bucket that a record lists.
   *
   * @param digest of its lock, as the record says; null if the record can't be read
   * @return what a record counts of it; empty if its lock is another one, or can't be read
   */
  Optional<Sums> closed(Bucket bucket, @Nullable String digest, WitnessVerifier keys) {
    Name directory = log.layout().bucket(bucket);
    Name lock = LogLayout.lock(directory);
    try {
      Optional<SegmentReader> closed = locks.open(bucket, wait);
      if (closed.isEmpty()) {
        missing(bucket);
        return Optional.empty();
      }
      try (SegmentReader in = closed.get()) {
        boolean another = digest != null && !in.digest().equals(digest);
        if (another) {
          tally.found(Finding.damage(lock, 0, "a lock of digest " + digest, in.digest()));
        }
        settled(in, bucket, keys);
        others(directory, in.bucket(bucket.start()).orElseThrow());
        return another ? Optional.empty() : Optional.of(Locks.sums(in));
      }
    } catch (DamagedException e) {
      tally.found(Finding.of(e));
      // What data files still say is all there is to go by.
      open(bucket, directory, keys).forEach(tally::found);
    } catch (IOException e) {
      tally.found(Finding.of(e, lock, "a readable bucket"));
    }
    return Optional.empty();
  }

  /** Reads all of a lock. */
  private void settled(SegmentReader lock, Bucket bucket, WitnessVerifier keys) throws IOException {
    new SegmentVerifier(lock).verify(b -> {});
    SegmentCursor m = lock.messages(bucket.start(), bucket.end(), keys, true);
    LeaseSet told = null;
    while (m.next()) {
      LeaseSet set = m.leaseSet();
      if (set != null && !set.equals(told) && set.fault().isPresent()) {
        told = set;
        tally.found(
            Finding.note(
                lock.path(),
                m.offset(),
                "a witness that a trusted key signed",
                set.fault().orElseThrow()));
      }
    }
    m.lost().forEach(e -> tally.found(Finding.of(e)));
    tally.read(lock.path(), lock.size());
    tally.messages += lock.trailer().messages();
  }

  /** A bucket that a record lists is lost. */
  void missing(Bucket bucket) {
    Name lock = LogLayout.lock(log.layout().bucket(bucket));
    tally.found(Finding.damage(lock, 0, "the lock of a bucket that a record lists", "no file"));
  }

  /** What else stands in a closed bucket. */
  private void others(Name directory, SegmentBucket bucket) throws IOException {
    Set<String> known = new HashSet<>(LogLayout.MARKS);
    bucket.files().forEach(f -> known.add(f.name().toString()));
    List<String> names = storage.list(directory, Freshness.CACHED).stream().sorted().toList();
    for (String name : names) {
      if (DataFileName.parse(name).isPresent() && !known.contains(name)) {
        tally.found(
            Finding.note(
                directory.resolve(name), 0, "a file that the lock names", "one written too late"));
      } else if (!known.contains(name)) {
        tally.foreign(directory.resolve(name));
      }
    }
    Name prelock = LogLayout.prelock(directory);
    prelock(prelock, names.contains(prelock.last()));
  }

  /** Only its size counts; still, all closers write the same byte. */
  private void prelock(Name prelock, boolean there) throws IOException {
    String actual = "no file";
    if (there) {
      byte[] bytes = storage.read(prelock, 1 << 12, Freshness.CACHED, all -> all);
      tally.read(prelock, bytes.length);
      actual = bytes.length == 1 && bytes[0] == 'x' ? "" : bytes.length + " bytes";
    }
    if (!actual.isEmpty()) {
      tally.found(Finding.note(prelock, 0, "one byte \"x\"", actual));
    }
  }

  /** Whether locks prove that records are missing (rule H7): one look for all, and one wait. */
  void unrecorded() throws IOException {
    try {
      if (!unrecorded.isEmpty()) {
        new UnrecordedLocks(log).missing(unrecorded).map(Finding::of).ifPresent(tally::found);
      }
    } catch (DamagedException e) {
      // The last record, and told already; or nobody knows how far records reach.
    }
  }

  /** Checks a bucket that no record reaches yet. */
  void open(Bucket bucket, WitnessVerifier keys) {
    try {
      Optional<Closed> lock = locks.readIfListed(bucket);
      if (lock.isPresent()) {
        unrecorded.add(bucket);
        closed(bucket, null, keys); // closed, and its record is still to come
        return;
      }
    } catch (IOException e) {
      tally.found(Finding.of(e, LogLayout.lock(log.layout().bucket(bucket)), "a readable lock"));
    }
    long before = tally.messages;
    List<Finding> gone = open(bucket, log.layout().bucket(bucket), keys);
    if (!gone.isEmpty() && mayBeLocked(bucket)) { // and swept, since it was listed
      tally.messages = before;
      unrecorded.add(bucket);
      closed(bucket, null, keys);
    } else {
      gone.forEach(tally::found);
    }
  }

  private boolean mayBeLocked(Bucket bucket) {
    try {
      Optional<SegmentReader> lock = locks.open(bucket, wait);
      if (lock.isPresent()) {
        lock.get().close();
      }
      return lock.isPresent();
    } catch (IOException e) {
      return true; // whoever reads it tells
    }
  }

  /** What is told of data files that were listed and may be gone: missing, or stale as on NFS. */
  private List<Finding> open(Bucket bucket, Name directory, WitnessVerifier keys) {
    var gone = new ArrayList<Finding>();
    try {
      for (String name : storage.list(directory, Freshness.CACHED).stream().sorted().toList()) {
        Name path = directory.resolve(name);
        Optional<DataFileName> parsed = DataFileName.parse(name);
        if (parsed.isPresent()) {
          try {
            openFile(bucket, path, parsed.get(), keys);
          } catch (DamagedException | AccessDeniedException e) {
            tally.found(Finding.of(e, path, "a readable file"));
          } catch (IOException e) {
            gone.add(Finding.of(e, path, "a readable file"));
          }
        } else if (!LogLayout.MARKS.contains(name)) {
          tally.foreign(path);
        } else {
          tally.file(log.store(), path);
        }
      }
    } catch (NoSuchFileException e) {
      // Retired meanwhile, or never there.
    } catch (IOException e) {
      tally.found(Finding.of(e, directory, "a readable bucket"));
    }
    return gone;
  }

  /** Reads all of a data file, as its closer will: what is not whole at its end is a torn tail. */
  private void openFile(Bucket bucket, Name path, DataFileName name, WitnessVerifier keys)
      throws IOException {
    var header = new FileHeader(log.store().identity().id(), log.id(), bucket, name);
    OpenFiles.Opening uncached = () -> log.storage().open(path, Freshness.CERTAIN);
    var findings = new ArrayList<Finding>();
    try (Stored in = log.storage().open(path, Freshness.CACHED);
        var cursor =
            new DataFileCursor(
                path,
                header,
                in,
                uncached,
                in.size(),
                OnDamage.GO_ON,
                new LeaseTable(keys, log),
                new OpenFiles(1)) {
              @Override
              protected void witness(long offset, String fault) {
                if (!fault.isEmpty() && findings.size() < MOST_FINDINGS) {
                  String expected = "a witness that a trusted key signed";
                  findings.add(Finding.note(path, offset, expected, fault));
                }
              }
            }) {
      long size = in.size();
      while (cursor.next()) {
        tally.messages++;
      }
      for (Hole hole : cursor.holes()) {
        findings.add(
            Finding.damage(
                path, hole.from(), "whole batches up to byte " + hole.to(), "damaged ones"));
      }
      DamagedException torn = cursor.torn();
      if (torn != null) {
        findings.add(torn(torn, cursor, uncached));
      }
      tally.read(path, size);
      findings.stream().limit(MOST_FINDINGS).forEach(tally::found);
    }
  }

  private static Finding torn(
      DamagedException torn, DataFileCursor cursor, OpenFiles.Opening uncached) throws IOException {
    if (torn.offset() > 0) {
      return Finding.note(torn.path(), torn.offset(), torn.expected(), "a torn tail");
    }
    try (Stored again = uncached.open()) {
      return cursor.isDestroyed(again)
          ? Finding.of(torn)
          : Finding.note(torn.path(), 0, torn.expected(), torn.actual());
    }
  }
}
