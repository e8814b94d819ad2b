package dev.cinch.lease.instance;

import dev.cinch.lease.ClockOffException;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The files of a store that matter to instances, shared by the registries of several. */
final class FakeRegistry implements InstanceRegistry {
  /** What is on disk. */
  static final class Store {
    Id id = new Id(7, 7);
    final Map<Long, Long> ceilings = new TreeMap<>();
    long numbers;

    /** Whose last words are there. */
    final Map<Long, byte[]> lastWords = new TreeMap<>();

    final Map<Id, Revocation> revocations = new LinkedHashMap<>();

    /** Whose the ends are. */
    final Map<InstanceRegistry.End, Long> ends = new LinkedHashMap<>();
  }

  private static final long BOUND = 500_000_000L;

  final Store store;
  final List<String> calls = new ArrayList<>();
  volatile boolean broken;

  /** Run by each comparison of clocks, before its answer. */
  volatile Runnable whileChecking = () -> {};

  /** Run before a revocation is kept. */
  Runnable whileKeeping = () -> {};

  /** Run before ends are brought about. */
  Runnable beforeEnding = () -> {};

  TrustedKeys keys = TrustedKeys.of(Rig.KEY.publicKey());

  long aheadNanos;

  /** How far clocks may be apart. */
  long apartNanos;

  /** The store's clock; null for one that always agrees. */
  @Nullable ManualTime clock;

  private long number;

  /** The number that several servers have as one instance; 0 for one of its own. */
  private final long shared;

  FakeRegistry(Store store) {
    this(store, 0);
  }

  /** Of one of several servers that are one instance. */
  FakeRegistry(Store store, long shared) {
    this.store = store;
    this.shared = shared;
  }

  /** When the instance's key ends. */
  long keyEnd = PublicKey.NEVER;

  @Override
  public long keyEnd() {
    return keyEnd;
  }

  @Override
  public Revocation revoked(Revocation revocation) throws IOException {
    calls.add("revoked");
    whileKeeping.run();
    if (broken) {
      throw new IOException("broken");
    }
    Revocation before = store.revocations.putIfAbsent(revocation.correlation(), revocation);
    return before == null ? revocation : before;
  }

  @Override
  public Id store() {
    return store.id;
  }

  @Override
  public void checkClock(long wall) throws IOException {
    whileChecking.run();
    if (broken) {
      throw new IOException("stale file handle");
    }
    ManualTime right = clock;
    if (right != null && Math.abs(wall - right.wallNanos()) > BOUND) {
      throw new ClockOffException("the clock is off");
    }
  }

  @Override
  public long clocksApartNanos() {
    return apartNanos;
  }

  @Override
  public long timestampsOffNanos() {
    return aheadNanos;
  }

  @Override
  public long takeNumber() throws IOException {
    called("take");
    store.numbers = shared > 0 ? Math.max(shared, store.numbers) : store.numbers + 1;
    number = shared > 0 ? shared : store.numbers;
    return number;
  }

  @Override
  public OptionalLong highestEarlierCeiling() throws IOException {
    called("earlier");
    return store.ceilings.entrySet().stream()
        .filter(e -> e.getKey() < number)
        .mapToLong(Map.Entry::getValue)
        .max();
  }

  @Override
  public boolean publishCeiling(long ceiling) throws IOException {
    called("publish");
    store.ceilings.merge(number, ceiling, Math::max);
    return number == store.numbers;
  }

  @Override
  public OptionalLong lastEarlierInstance(LeaseName name) {
    return store.ceilings.keySet().stream().filter(n -> n < number).mapToLong(n -> n).max();
  }

  @Override
  public void leave(byte[] words) throws IOException {
    called("leave");
    store.lastWords.put(number, words);
  }

  @Override
  public Optional<byte[]> lastWords() throws IOException {
    called("lastWords");
    OptionalLong last = lastEarlierInstance(new LeaseName("any"));
    return last.isEmpty()
        ? Optional.empty()
        : Optional.ofNullable(store.lastWords.get(last.getAsLong()));
  }

  @Override
  public Set<InstanceRegistry.End> end(List<InstanceRegistry.End> ends) throws IOException {
    called("end");
    beforeEnding.run();
    ends.forEach(e -> store.ends.putIfAbsent(e, number));
    return ends.stream()
        .filter(e -> Long.valueOf(number).equals(store.ends.get(e)))
        .collect(Collectors.toSet());
  }

  @Override
  public TrustedKeys trustedKeys() throws IOException {
    called("keys");
    return keys;
  }

  @Override
  public boolean isLatest() throws IOException {
    called("look");
    return number == store.numbers;
  }

  @Override
  public String latest() {
    return "instance " + store.numbers + " at http://web-1:8470";
  }

  private void called(String what) throws IOException {
    if (broken) {
      throw new IOException("stale file handle");
    }
    calls.add(what);
  }

  long count(String what) {
    return calls.stream().filter(what::equals).count();
  }
}
