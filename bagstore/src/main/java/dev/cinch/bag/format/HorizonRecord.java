package dev.cinch.bag.format;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.lease.Id;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * One link of a log's horizon: settles {@code [from, to)} (section 4).
 *
 * @param log the log's id
 * @param number from 1, without gaps
 * @param from the {@code to} of the record before, {@link Long#MIN_VALUE} in the first
 * @param to a bucket boundary, above {@code from}
 * @param previous SHA-256 of the record before, in hexadecimal; empty in the first
 * @param trustedKeys how many of the store's trusted keys apply to this range (rule F3)
 * @param keysDigest SHA-256 of the public keys 1 to {@code trustedKeys}, one after another, in
 *     hexadecimal
 * @param buckets the closed buckets in the range, ascending; no other bucket in it exists (rule H1)
 * @param sums what it and all records before it settled
 * @param closer who linked it, for people
 * @param settledAt the filesystem's clock when it was written, for people
 */
public record HorizonRecord(
    Id log,
    long number,
    long from,
    long to,
    String previous,
    int trustedKeys,
    String keysDigest,
    List<ClosedBucket> buckets,
    Sums sums,
    String closer,
    long settledAt) {
  /** Buckets that one record lists, at most: whoever settles more links several. */
  public static final int MAX_BUCKETS = 10_000;

  /** The longest file of a record that is read: one of so many buckets has a third of that. */
  public static final int MAX_BYTES = 1 << 22;

  private static final String TYPE = "record";

  private static final int VERSION = 3;

  /**
   * A bucket that a record lists.
   *
   * @param start of the bucket
   * @param lockDigest SHA-256 of its lock, in hexadecimal
   */
  public record ClosedBucket(long start, String lockDigest) {}

  /**
   * What was settled, from the log's beginning on in a record. That some of it was retired or
   * expired since changes nothing. Whoever settles the same range counts the same.
   *
   * @param buckets that exist
   * @param messages in them, those included that no lease permits
   * @param bytes of their locks
   * @param newest timestamp of the newest message, nanoseconds since the Unix epoch; {@link
   *     Long#MIN_VALUE} if there is none
   */
  public record Sums(long buckets, long messages, long bytes, long newest) {
    /** Of nothing. */
    public static final Sums NONE = new Sums(0, 0, 0, Long.MIN_VALUE);

    /** Both together; what a number does not hold is its highest one, which verify tells. */
    public Sums plus(Sums other) {
      return new Sums(
          plus(buckets, other.buckets),
          plus(messages, other.messages),
          plus(bytes, other.bytes),
          Math.max(newest, other.newest));
    }

    private static long plus(long a, long b) {
      return a > Long.MAX_VALUE - b ? Long.MAX_VALUE : a + b;
    }
  }

  public HorizonRecord {
    buckets = List.copyOf(buckets);
  }

  /** The same with other keys. */
  public HorizonRecord withKeys(int count, String digest) {
    return new HorizonRecord(
        log, number, from, to, previous, count, digest, buckets, sums, closer, settledAt);
  }

  /** The same behind another record, of that digest. */
  public HorizonRecord follows(String digest) {
    return new HorizonRecord(
        log, number, from, to, digest, trustedKeys, keysDigest, buckets, sums, closer, settledAt);
  }

  /** The same with another range. */
  public HorizonRecord withRange(long otherFrom, long otherTo) {
    return new HorizonRecord(
        log,
        number,
        otherFrom,
        otherTo,
        previous,
        trustedKeys,
        keysDigest,
        buckets,
        sums,
        closer,
        settledAt);
  }

  /** The same with other buckets. */
  public HorizonRecord withBuckets(List<ClosedBucket> others) {
    return new HorizonRecord(
        log, number, from, to, previous, trustedKeys, keysDigest, others, sums, closer, settledAt);
  }

  /** The same with other sums. */
  public HorizonRecord withSums(Sums others) {
    return new HorizonRecord(
        log,
        number,
        from,
        to,
        previous,
        trustedKeys,
        keysDigest,
        buckets,
        others,
        closer,
        settledAt);
  }

  /** What it lists for a bucket; empty if the bucket is in the range and does not exist. */
  public Optional<ClosedBucket> bucket(long start) {
    int low = 0;
    int high = buckets.size() - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      int order = Long.compare(buckets.get(middle).start(), start);
      if (order == 0) {
        return Optional.of(buckets.get(middle));
      }
      if (order < 0) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return Optional.empty();
  }

  /** Whether a time lies in its range. */
  public boolean settles(long time) {
    return time >= from && time < to;
  }

  public byte[] encode() {
    ObjectNode document = JsonNodeFactory.instance.objectNode();
    document.put("log", log.toString()).put("number", number).put("from", from).put("to", to);
    document.put("previous", previous).put("trustedKeys", trustedKeys).put("keys", keysDigest);
    document.put("closer", closer).put("settledAt", settledAt);
    document.put("settledBuckets", sums.buckets()).put("settledMessages", sums.messages());
    document.put("settledBytes", sums.bytes()).put("newest", sums.newest());
    var array = document.putArray("buckets");
    for (ClosedBucket b : buckets) {
      array.addObject().put("start", b.start()).put("lock", b.lockDigest());
    }
    return Envelope.encode(TYPE, VERSION, document);
  }

  /**
   * Reads a record of a log of which the width of buckets is known.
   *
   * @throws DamagedException also if its range does not end at a boundary of buckets, or a bucket
   *     in it is none
   */
  public static HorizonRecord decode(byte[] bytes, Name path, long width) throws DamagedException {
    HorizonRecord record = decode(bytes, path);
    if (Math.floorMod(record.to, width) != 0) {
      throw new DamagedException(path, 0, "a range up to a boundary of buckets", "" + record.to);
    }
    for (ClosedBucket b : record.buckets) {
      if (!LogLayout.hasPlace(b.start(), width)) {
        throw new DamagedException(path, 0, "starts of buckets", "" + b.start());
      }
    }
    return record;
  }

  /**
   * @param path for error messages
   * @throws DamagedException if it is not a record, was cut short or altered, or contradicts itself
   */
  public static HorizonRecord decode(byte[] bytes, Name path) throws DamagedException {
    Fields in = Envelope.decode(TYPE, VERSION, VERSION, bytes, path).fields();
    var buckets = new ArrayList<ClosedBucket>();
    long from = in.number("from");
    long to = in.number("to");
    if (to <= from) {
      throw new DamagedException(path, 0, "\"to\" above \"from\"", to + " and " + from);
    }
    long before = from;
    List<Fields> listed = in.objects("buckets");
    if (listed.size() > MAX_BUCKETS) {
      throw new DamagedException(
          path, 0, "at most " + MAX_BUCKETS + " buckets", "" + listed.size());
    }
    for (Fields f : listed) {
      long start = f.number("start");
      if (start < before || start >= to) {
        throw new DamagedException(path, 0, "buckets of its range in order", "" + start);
      }
      before = start + 1;
      buckets.add(new ClosedBucket(start, f.sha256("lock")));
    }
    return new HorizonRecord(
        in.id("log"),
        in.number("number", 1, Numbered.MAX),
        from,
        to,
        in.text("previous"),
        (int) in.number("trustedKeys", 0, Integer.MAX_VALUE),
        in.sha256("keys"),
        buckets,
        new Sums(
            in.number("settledBuckets", 0, Long.MAX_VALUE),
            in.number("settledMessages", 0, Long.MAX_VALUE),
            in.number("settledBytes", 0, Long.MAX_VALUE),
            in.number("newest")),
        in.text("closer"),
        in.number("settledAt"));
  }
}
