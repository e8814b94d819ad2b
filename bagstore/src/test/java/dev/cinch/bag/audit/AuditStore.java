package dev.cinch.bag.audit;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.fs.ClockedFs;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Altered;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.Witness;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;

/**
 * A store on the real filesystem whose time the test owns: it stands still, also the filesystem's,
 * until the test advances it. Ids come from a seeded generator.
 */
public final class AuditStore {
  /** 2026-01-01T00:00:00Z. */
  public static final long START = 1_767_225_600_000_000_000L;

  public static final long SECOND = 1_000_000_000L;

  public final SigningKey key = SigningKey.ofSeed(new byte[32]);
  public final ManualTime clock = new ManualTime();
  public final Store.Environment environment;
  public final Store store;
  private final WitnessSigner signer = new WitnessSigner(key);

  public AuditStore(Path root, StoreSettings.Leases leases) throws IOException {
    this(root, leases, false);
  }

  /**
   * @param pinned whether {@code init} knows the key
   */
  public AuditStore(Path root, StoreSettings.Leases leases, boolean pinned) throws IOException {
    this.environment =
        new Store.Environment(
            new ClockedFs(new PosixFs(null, null), clock),
            new MachineName("m1"),
            clock,
            new Random(7));
    StoreSettings d = StoreSettings.DEFAULT;
    var settings =
        Altered.with(d, "directoryMode", 0775, "group", Optional.empty(), "leases", leases);
    store = Store.init(root, settings, environment, pinned ? key : null);
    long unused = TrustedKeyFiles.add(store.context(), key);
  }

  /** Signs with the key that the store trusts. */
  public SignedWitness sign(Witness w) {
    return signer.sign(w);
  }

  /** Signs them together. */
  public List<SignedWitness> sign(List<Witness> witnesses) {
    return signer.sign(witnesses);
  }

  /** A stamp with the bounds that its witnesses set. */
  public static LeaseStamp stamp(SignedWitness... witnesses) {
    long lower = Long.MIN_VALUE;
    long upper = Long.MAX_VALUE;
    for (SignedWitness s : witnesses) {
      lower = Math.max(lower, s.witness().lowerBound());
      upper = Math.min(upper, s.witness().expiry());
    }
    return new LeaseStamp(List.of(witnesses), lower, upper);
  }

  /** A stamp whose bounds nobody looked at: a holder that writes when it must not. */
  public static LeaseStamp reckless(SignedWitness... witnesses) {
    return new LeaseStamp(List.of(witnesses), Long.MIN_VALUE, Long.MAX_VALUE);
  }

  /** Appends and gives the timestamp. */
  public static long append(LogWriter writer, LeaseStamp stamp, String text) throws Exception {
    Receipt receipt = writer.append(stamp, text.getBytes(StandardCharsets.UTF_8));
    if (receipt instanceof Receipt.Committed c) {
      return c.timestamp();
    }
    throw new AssertionError(receipt.toString());
  }

  public LogWriter writer(Log log) {
    return log.writer(Durability.CLOSE);
  }

  /** Lets time pass and settles everything up to a time, that time included. */
  public void settle(Log log, long through) throws Exception {
    while (log.horizon().reachable() <= through) {
      clock.sleepNanos(SECOND);
    }
    log.horizon().advance(through + 1, OptionalLong.of(clock.wallNanos()));
  }

  /** A full lease that follows none. */
  public Witness first(String name, long expiry) {
    return Altered.first(
        name, "h", new Id(clock.wallNanos(), name.hashCode()), clock.wallNanos(), expiry);
  }

  /** The lease after another. */
  public Witness after(
      Witness before, Ending ending, Watermark watermark, Fence fence, long expiry) {
    return Altered.with(
        Altered.first(
            before.name().value(),
            "h",
            new Id(clock.wallNanos(), before.generation() + 1),
            clock.wallNanos(),
            expiry),
        "instance",
        before.instance(),
        "generation",
        before.generation() + 1,
        "previous",
        Optional.of(before.correlation()),
        "previousEnding",
        ending,
        "previousEndedAt",
        clock.wallNanos(),
        "watermark",
        watermark,
        "fence",
        fence);
  }
}
