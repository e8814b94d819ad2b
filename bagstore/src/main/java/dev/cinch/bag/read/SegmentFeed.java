package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.ChainWalk;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentEncoder;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.store.LogContext;
import java.io.IOException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Reads the buckets of a record for whoever builds a segment: all messages that the locks cover, in
 * the total order, whether rule F3 lets them exist or not. Memory is bounded by the data files of
 * one bucket. Thread-safe.
 */
@CheckReturnValue
public final class SegmentFeed {
  private final LogContext log;
  private final LogReader reader;
  private final Locks locks;

  public SegmentFeed(LogContext log) {
    this.log = log;
    this.reader = new LogReader(log);
    this.locks = new Locks(log);
  }

  /** Bytes of data files that the record's locks cover. */
  public long bytes(HorizonRecord record) throws IOException {
    long bytes = 0;
    for (ClosedBucket b : record.buckets()) {
      for (LockedFile f : locks.readListed(b).lock().files()) {
        bytes += f.validLength();
      }
    }
    return bytes;
  }

  /** Puts the record's buckets, in order, into a segment. */
  public void feed(HorizonRecord record, SegmentEncoder out) throws IOException {
    for (ClosedBucket listed : record.buckets()) {
      feed(locks.readListed(listed), record, out);
    }
  }

  /**
   * Checks that a segment is what its records, their locks and data files give as they stand now:
   * it is made once more, and not kept. The same records give the same bytes (rule R1).
   *
   * @param header what the segment says of itself
   * @param path of the segment
   * @param tip the last record of the log
   * @param sha256 of all its bytes
   * @throws DamagedException if it is another, or what it was made of can't be read
   */
  public void check(SegmentHeader header, Path path, Link tip, String sha256) throws IOException {
    MessageDigest whole = Envelope.sha256();
    var encoder = new SegmentEncoder(header, bytes -> whole.update(bytes.duplicate()));
    var walk = new ChainWalk(new HorizonChain(log), tip, header.firstRecord());
    long from = header.from();
    Optional<Link> last = Optional.empty();
    for (long n = header.firstRecord(); n <= header.lastRecord(); n++) {
      last = walk.next();
      if (last.isEmpty()) {
        throw new DamagedException(
            path, 64, "records up to " + (n - 1) + ", the last one", "" + header.lastRecord());
      }
      if (last.get().record().from() != from) {
        throw new DamagedException(
            path, 72, "a range from " + last.get().record().from(), "" + from);
      }
      from = last.get().record().to();
      feed(last.get().record(), encoder);
    }
    String digest = last.map(Link::digest).orElse("");
    if (from != header.to() || !digest.equals(header.lastDigest())) {
      throw new DamagedException(
          path,
          80,
          "record %d up to %d, of SHA-256 %s".formatted(header.lastRecord(), from, digest),
          "up to %d, of %s".formatted(header.to(), header.lastDigest()));
    }
    encoder.end();
    String expected = HexFormat.of().formatHex(whole.digest());
    if (!expected.equals(sha256)) {
      throw new DamagedException(
          path, 0, "SHA-256 " + expected + ", which its records and data files give", sha256);
    }
  }

  private void feed(Locks.Closed closed, HorizonRecord record, SegmentEncoder out)
      throws IOException {
    out.bucket(SegmentBucket.of(closed.lock(), record));
    List<LockedFile> files = closed.lock().files();
    List<DataFileCursor> cursors = reader.open(closed.lock());
    try {
      var places = new HashMap<DataFileName, Integer>();
      for (int i = 0; i < files.size(); i++) {
        places.put(files.get(i).name(), i);
      }
      for (DataFileCursor c : cursors) {
        c.tag = Objects.requireNonNull(places.get(c.file()));
      }
      var merge = new Merge(cursors);
      var known = new LeaseSet[files.size()];
      var numbers = new int[files.size()];
      for (DataFileCursor m = merge.next(); m != null; m = merge.next()) {
        int i = m.tag;
        LeaseSet set = m.leaseSet();
        if (set == null) {
          numbers[i] = 0;
        } else if (!same(set, known[i])) { // sets are made anew in every batch
          numbers[i] = out.leaseSet(m.signedLeases());
        }
        known[i] = set;
        m.feed(out, numbers[i]);
      }
    } finally {
      for (DataFileCursor c : cursors) {
        c.close();
      }
    }
  }

  @SuppressWarnings("ReferenceEquality") // the same object, or ask the encoder
  private static boolean same(LeaseSet a, @Nullable LeaseSet b) {
    return a == b;
  }
}
