package dev.cinch.sim;

import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.model.StoreSettings.Confirm;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.lease.sim.Rng;
import dev.cinch.sim.fs.Ambush;
import dev.cinch.sim.fs.Ambush.Theme;
import dev.cinch.sim.fs.FaultKind;
import dev.cinch.sim.fs.FsKind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The shape of a world: everything that a seed decides before the run begins. A smaller one can be
 * made of it to find out what a failure needs.
 *
 * @param theme what its ambushes are about, if it has any
 * @param tickNanos resolution of the server's change times
 * @param users how many different ones its machines have; -1: one is a superuser
 * @param leaseMs what sessions ask for
 * @param ceilingAheadMs how far above what it grants the lease service publishes ceilings at most
 * @param restartNanos how often the lease service is restarted while faults strike; 0: seldom
 * @param lingering whether who holds leases may rest for as long as they last
 * @param operations of each process, about
 * @param longestBurst operations that a process may do before another runs
 * @param latencyNanos what one operation takes, on average
 * @param ambushes where things happen again and again, if that kind of fault is on
 * @param lastLogNanos simulated time from which on there is the last of several logs, whose first
 *     user makes it; 0: it is there from the start
 * @param faultsEndNanos simulated time after which nothing fails any more
 */
record Plan(
    long seed,
    Optional<Theme> theme,
    FsKind kind,
    Durability durability,
    Confirm confirm,
    Leases leases,
    long widthMs,
    long graceMs,
    long leaseMs,
    long ceilingAheadMs,
    long restartNanos,
    int umask,
    long tickNanos,
    int machines,
    int users,
    int logs,
    long lastLogNanos,
    List<Role> roles,
    boolean lingering,
    int operations,
    boolean byPriority,
    int longestBurst,
    long latencyNanos,
    List<Ambush> ambushes,
    long faultsEndNanos,
    Set<FaultKind> on) {
  /** How far clocks may be off, timestamps from clocks, and how slow an append may be. */
  static final int BOUND_MS = 50;

  static final int MARGIN_MS = 40;

  private static final Set<Theme> LEASES = EnumSet.of(Theme.LEASING, Theme.READING);
  private static final Set<Theme> RETIRES = EnumSet.of(Theme.RETIRING, Theme.READING, Theme.POWER);

  /** What goes wrong wherever the store is. */
  private static final Set<FaultKind> ANYWHERE =
      EnumSet.of(
          FaultKind.PAUSE,
          FaultKind.CRASH,
          FaultKind.MACHINE_CRASH,
          FaultKind.CLOCK_STEP,
          FaultKind.SERVER_CLOCK_STEP,
          FaultKind.AMBUSH,
          FaultKind.REQUEST_LOST,
          FaultKind.ANSWER_LOST,
          FaultKind.RPC_SLOW,
          FaultKind.RPC_DOUBLED,
          FaultKind.SERVICE_CRASH,
          FaultKind.SERVICE_ZOMBIE,
          FaultKind.SERVICE_CLOCK_STEP);

  /** What leaves holders alone, so that they meet those of other instances. */
  private static final Set<FaultKind> MILD =
      EnumSet.of(
          FaultKind.PAUSE,
          FaultKind.PIECES,
          FaultKind.ATTRIBUTES_CACHED,
          FaultKind.LISTINGS_CACHED,
          FaultKind.SERVICE_ZOMBIE,
          FaultKind.AMBUSH);

  /**
   * What an object store's clock is rounded by: it names a second, and nobody is further from its
   * middle than half of one.
   */
  private static final long SECOND_MS = 1_000;

  /** Whether the store is in an object store. */
  boolean ofObjects() {
    return kind == FsKind.OBJECTS;
  }

  /** How far clocks may be off. */
  long boundMs() {
    return ofObjects() ? BOUND_MS + SECOND_MS / 2 : BOUND_MS;
  }

  /** How much of that the server's clock takes, since it is rounded. */
  long roundedNanos() {
    return ofObjects() ? SECOND_MS / 2 * 1_000_000 : tickNanos;
  }

  /**
   * The same world with its store in an object store: wider bounds, and no users, caches, modes or
   * disks. Half of the kinds of faults of such stores, or so, are on.
   */
  Plan onObjects() {
    Rng rng = Rng.of(seed, 19);
    var others = EnumSet.range(FaultKind.OBJECT_REQUEST_LOST, FaultKind.OBJECT_AWAY);
    var kinds = EnumSet.copyOf(on);
    kinds.retainAll(ANYWHERE);
    int density = rng.between(0, 4);
    for (FaultKind other : others) {
      if (rng.below(5) < density) {
        kinds.add(other);
      }
    }
    boolean late = confirm == Confirm.LATE;
    // Late confirmation takes the server's time for right: half of the grace is above its rounding.
    long more = late ? 2 * SECOND_MS : SECOND_MS / 2;
    return new Plan(
        seed,
        theme,
        FsKind.OBJECTS,
        durability,
        confirm,
        leases,
        widthMs,
        graceMs + more,
        leaseMs + more + SECOND_MS / 2,
        ceilingAheadMs,
        restartNanos,
        umask,
        tickNanos,
        rng.between(1, 3),
        1,
        logs,
        lastLogNanos,
        roles.stream().filter(role -> role != Role.BACKUP).toList(),
        lingering,
        operations,
        byPriority,
        longestBurst,
        latencyNanos,
        ambushes,
        faultsEndNanos,
        Collections.unmodifiableSet(kinds));
  }

  /** Whether instances of the lease service go on side by side, and holders between them. */
  boolean several() {
    return theme.equals(Optional.of(Theme.RESUMING));
  }

  /** Whether instances share the names, and the shard map changes. */
  boolean sharded() {
    return several() && seed % 3 == 0;
  }

  /**
   * The shortest lease that a session asks for where instances go on side by side: a third of it is
   * more than a renewal takes, which the process does between its operations, or it does nothing
   * but renew.
   */
  long shortLeaseMs() {
    return widthMs + graceMs + MARGIN_MS + boundMs() + 1 + 80 * latencyNanos / 1_000_000;
  }

  /** Whether what one user makes is closed to others until its mode is set. */
  boolean opensLate() {
    return users != 1 && (umask & 0020) != 0;
  }

  static Plan draw(long seed) {
    Rng rng = Rng.of(seed, 1);
    // Streams of their own, so that one draw more here is another world only where it matters.
    Rng appears = Rng.of(seed, 3);
    Rng delegates = Rng.of(seed, 4);
    Rng serves = Rng.of(seed, 6);
    Rng makes = Rng.of(seed, 7);
    Rng mounts = Rng.of(seed, 8);
    Rng resumes = Rng.of(seed, 9);
    Rng expires = Rng.of(seed, 10);
    boolean expiring = expires.oneIn(8); // messages do, while others read them
    boolean cut = expiring && expires.oneIn(3); // and the power fails
    Rng rivals = Rng.of(seed, 14);
    Rng removes = Rng.of(seed, 15);
    Rng backs = Rng.of(seed, 17);
    Theme drawn = Theme.values()[rng.below(Theme.MAKING.ordinal())];
    Optional<Theme> theme = rng.below(5) > 1 ? Optional.of(drawn) : Optional.empty();
    boolean power = theme.equals(Optional.of(Theme.POWER));
    boolean local = rng.oneIn(7) || power && rng.below(4) > 0 || cut;
    FsKind kind = local ? FsKind.LOCAL : rng.oneIn(6) ? FsKind.GLUSTER : FsKind.NFS;
    Durability durability = power || rng.below(5) < 3 || cut ? Durability.SYNC : Durability.CLOSE;
    Confirm confirm = rng.oneIn(10) ? Confirm.LATE : Confirm.ALWAYS;
    long widthMs = new long[] {100, 200, 500, 1_000}[rng.below(4)];
    long graceMs = new long[] {200, 300, 600}[rng.below(3)];
    List<Role> roles = roles(rng, theme);
    boolean leased = roles.contains(Role.SESSION);
    Leases leases = leased && rng.oneIn(3) ? Leases.REQUIRED : Leases.OPTIONAL;
    Set<FaultKind> on = faults(rng, kind, durability, confirm, leased);
    if (theme.isPresent()) {
      on.add(FaultKind.AMBUSH);
    }
    if (power || cut) {
      on.add(FaultKind.MACHINE_CRASH);
    }
    if (kind == FsKind.NFS && delegates.oneIn(3)) {
      on.add(FaultKind.DELEGATIONS);
      if (delegates.below(3) > 0) {
        on.add(FaultKind.DELEGATION_REVOKED);
      }
      if (delegates.oneIn(3)) {
        roles = with(roles, Role.READER); // who reads is given some
      }
      if (serves.oneIn(2)) {
        on.add(FaultKind.DIRECTORY_DELEGATIONS);
      }
    }
    if (kind != FsKind.LOCAL && mounts.oneIn(4)) {
      on.add(FaultKind.GIVEN_UP);
    }
    if (leased && makes.oneIn(3)) {
      roles = with(roles, Role.TENTATIVE);
    }
    boolean replaced = leased && !expiring && serves.oneIn(5);
    if (replaced) { // the service is, by another instance, while the first one goes on
      on.addAll(Set.of(FaultKind.SERVICE_CRASH, FaultKind.SERVICE_ZOMBIE, FaultKind.AMBUSH));
      roles = with(roles, Role.SESSION);
    }
    boolean making = leased && !expiring && !replaced && makes.oneIn(5);
    boolean resuming = leased && !expiring && !making && resumes.oneIn(2);
    if (resuming) { // the service forgets, and whoever holds leases for long goes on
      on.addAll(Set.of(FaultKind.SERVICE_ZOMBIE, FaultKind.AMBUSH));
      if (resumes.oneIn(2)) {
        on.addAll(Set.of(FaultKind.ANSWER_LOST, FaultKind.REQUEST_LOST, FaultKind.RPC_DOUBLED));
      }
      roles = with(roles, Role.SESSION);
    }
    boolean several = resuming && rivals.below(8) > 0; // instances, which go on side by side
    if (several) {
      if (rivals.below(4) > 0) {
        on.retainAll(MILD);
      }
      on.addAll(Set.of(FaultKind.ANSWER_LOST, FaultKind.REQUEST_LOST, FaultKind.RPC_DOUBLED));
      // One in four restarts is a crash; and with a server's clock that steps none is right.
      on.removeAll(Set.of(FaultKind.SERVICE_CRASH, FaultKind.SERVER_CLOCK_STEP));
      if (rivals.oneIn(2)) {
        on.add(FaultKind.SERVICE_CLOCK_STEP);
      }
      if (rivals.oneIn(3) && kind != FsKind.LOCAL && durability == Durability.SYNC) {
        on.add(FaultKind.SERVER_REBOOT);
      }
      roles = List.of(Role.SESSION, Role.SESSION, Role.SESSION, Role.CLOSER);
      roles = with(roles, rivals.oneIn(3) ? Role.TENTATIVE : Role.SESSION);
    }
    if (making) {
      on.add(FaultKind.AMBUSH);
      if (makes.oneIn(4)) {
        on.addAll(Set.of(FaultKind.SERVICE_CRASH, FaultKind.SERVICE_ZOMBIE));
      }
      roles = with(roles, Role.SESSION);
    }
    if (expiring) {
      on.add(FaultKind.AMBUSH);
      drawn = Theme.EXPIRING;
      theme = Optional.of(drawn);
      roles = with(with(with(roles, Role.CLOSER), Role.READER), Role.EXPIRER);
      if (expires.oneIn(2)) {
        roles = with(roles, Role.EXPIRER);
      }
    }
    // Writers that confirm late do not look, so there no log is removed (rule H8).
    boolean removing = confirm == Confirm.ALWAYS && removes.oneIn(10);
    if (removing) {
      on.add(FaultKind.AMBUSH);
      if (!expiring) {
        drawn = removes.oneIn(2) ? Theme.ENTERING : Theme.CLOSING;
        theme = Optional.of(drawn);
      }
      roles = with(roles, Role.REMOVER);
      if (removes.oneIn(4)) {
        roles = with(roles, Role.REMOVER);
      }
    }
    if (backs.oneIn(8)) {
      roles = with(roles, Role.BACKUP);
    }
    Rng cuts = Rng.of(seed, 18);
    if (cuts.oneIn(6)) {
      roles = with(roles, Role.CUTTER);
      if (cuts.oneIn(2)) {
        roles = with(roles, Role.CUTTER);
      }
    }
    if (replaced || making || resuming) {
      drawn = making ? Theme.MAKING : several ? Theme.RESUMING : Theme.LEASING;
      theme = Optional.of(drawn);
    }
    if (!several && Rng.of(seed, 16).oneIn(4)) {
      on.add(FaultKind.FULL);
    }
    boolean late = making || power && makes.oneIn(2); // a log is made during the run
    long least = widthMs + graceMs + MARGIN_MS + BOUND_MS;
    boolean forgets = on.contains(FaultKind.SERVICE_CRASH) || resuming;
    long leaseMs = forgets ? 10_000 : least + rng.between(50, 3_000);
    if (several) {
      leaseMs = least + rivals.between(1_500, 6_000);
    }
    int machines = kind == FsKind.LOCAL ? 1 : rng.between(1, 3);
    return new Plan(
        seed,
        theme,
        kind,
        durability,
        confirm,
        leases,
        widthMs,
        graceMs,
        leaseMs,
        new long[] {50, 1_000, 5_000, 30_000}[serves.below(4)],
        several
            ? rivals.between(1, 4) * leaseMs * 1_000_000
            : resuming ? resumes.spread(2_000_000_000L, 15_000_000_000L) : 0,
        rng.oneIn(4) ? 022 : 02,
        new long[] {1, 1_000_000, 4_000_000, 20_000_000}[rng.below(4)],
        machines,
        rng.oneIn(8) ? -1 : rng.between(1, 2),
        rng.oneIn(3) || late ? 2 : 1,
        appears.oneIn(2) || late ? appears.spread(10_000_000, 5_000_000_000L) : 0,
        roles,
        resuming || replaced && serves.below(4) > 0 || making && makes.oneIn(2),
        several ? rivals.between(20, 40) : rng.between(3, 12),
        rng.oneIn(4),
        new int[] {3, 8, 30, 150}[rng.below(4)],
        rng.spread(50_000, 10_000_000),
        Ambush.draw(drawn, names(roles), rng),
        rng.spread(resuming ? 20_000_000_000L : 2_000_000_000L, 60_000_000_000L),
        Collections.unmodifiableSet(on));
  }

  /** How names of processes begin. */
  private static List<String> names(List<Role> roles) {
    var names = new ArrayList<String>(List.of("service"));
    for (Role role : roles) {
      names.add(role.processName());
    }
    return names;
  }

  private static List<Role> with(List<Role> roles, Role another) {
    var more = new ArrayList<Role>(roles);
    more.add(another);
    return Collections.unmodifiableList(more);
  }

  private static List<Role> roles(Rng rng, Optional<Theme> theme) {
    var roles = new ArrayList<Role>();
    boolean leased = theme.filter(LEASES::contains).isPresent() || rng.oneIn(4);
    int writers = rng.between(1, 3);
    for (int i = 0; i < writers; i++) {
      roles.add(leased && rng.below(4) > 0 ? Role.SESSION : Role.APPENDER);
    }
    if (rng.below(4) > 0) {
      roles.add(Role.CLOSER);
    }
    Role[] others = {Role.CLOSER, Role.CLOSER, Role.READER, Role.AGGREGATOR};
    if (rng.oneIn(2)) {
      roles.add(others[rng.below(others.length)]);
    }
    if (theme.filter(RETIRES::contains).isPresent()) {
      roles.add(Role.AGGREGATOR);
    }
    return Collections.unmodifiableList(roles);
  }

  private static EnumSet<FaultKind> faults(
      Rng rng, FsKind kind, Durability durability, Confirm confirm, boolean leased) {
    var on = EnumSet.noneOf(FaultKind.class);
    int density = rng.between(0, 6);
    for (FaultKind f : FaultKind.values()) {
      boolean usual =
          f == FaultKind.ATTRIBUTES_CACHED
              || f == FaultKind.LISTINGS_CACHED
              || f == FaultKind.PIECES
              || f == FaultKind.PAUSE;
      if (f == FaultKind.AMBUSH || f.compareTo(FaultKind.DELEGATIONS) >= 0) {
        continue;
      }
      if (usual ? rng.below(5) > 0 : rng.below(12) < density) {
        on.add(f);
      }
    }
    if (durability != Durability.SYNC || kind == FsKind.LOCAL) {
      on.remove(FaultKind.SERVER_REBOOT); // what was only closed may be lost then
    }
    if (durability != Durability.SYNC && kind == FsKind.LOCAL) {
      on.remove(FaultKind.MACHINE_CRASH); // likewise
    }
    if (confirm == Confirm.LATE) {
      on.remove(FaultKind.SERVER_CLOCK_STEP); // its assumption (section 5)
    }
    if (!leased) {
      on.removeIf(f -> f.ordinal() >= FaultKind.REQUEST_LOST.ordinal());
    } else if (rng.oneIn(2)) {
      on.remove(FaultKind.SERVICE_CRASH); // waiting for a ceiling makes a run long
    } else if (rng.oneIn(2) && on.contains(FaultKind.SERVICE_CRASH)) {
      on.add(FaultKind.SERVICE_ZOMBIE);
    }
    return on;
  }

  StoreSettings settings() {
    Duration bound = Duration.ofMillis(BOUND_MS);
    Duration ahead = Duration.ofMillis(graceMs - boundMs() - BOUND_MS - 1);
    return StoreSettings.builder()
        .bucketWidth(Duration.ofMillis(widthMs))
        .grace(Duration.ofMillis(graceMs))
        .clockBound(Duration.ofMillis(boundMs()))
        .timestampDistance(seed % 4 == 1 ? ahead : bound)
        .slowAppend(bound)
        .longestLease(Duration.ofSeconds(12))
        .leaseMargin(Duration.ofMillis(MARGIN_MS))
        .confirm(confirm)
        .leases(leases)
        .build();
  }

  /** Logs that are there from the start. */
  int firstLogs() {
    return logs > 1 && lastLogNanos > 0 ? logs - 1 : logs;
  }

  /** Names that {@link #has} knows. */
  static Set<String> traits() {
    return Stream.of(
            Theme.values(), FaultKind.values(), FsKind.values(), Confirm.values(), Role.values())
        .flatMap(Arrays::stream)
        .map(Enum::name)
        .collect(Collectors.toSet());
  }

  /**
   * @param trait the name of a theme, a kind of fault, a filesystem, a way to confirm or a role
   */
  boolean has(String trait) {
    return theme.filter(t -> t.name().equals(trait)).isPresent()
        || on.stream().anyMatch(f -> f.name().equals(trait))
        || kind.name().equals(trait)
        || confirm.name().equals(trait)
        || roles.stream().anyMatch(r -> r.name().equals(trait));
  }

  boolean leased() {
    return roles.contains(Role.SESSION);
  }

  /** Whether messages expire. */
  boolean expiring() {
    return roles.contains(Role.EXPIRER);
  }

  /** Whether a log is removed. */
  boolean removing() {
    return roles.contains(Role.REMOVER);
  }

  Plan without(FaultKind kind) {
    var fewer = EnumSet.noneOf(FaultKind.class);
    fewer.addAll(on);
    fewer.remove(kind);
    return with(Collections.unmodifiableSet(fewer), roles, operations, byPriority, longestBurst);
  }

  Plan withoutRole(int index) {
    var fewer = new ArrayList<Role>(roles);
    fewer.remove(index);
    return with(on, Collections.unmodifiableList(fewer), operations, byPriority, longestBurst);
  }

  Plan withOperations(int count) {
    return with(on, roles, count, byPriority, longestBurst);
  }

  Plan withBursts(int longest) {
    return with(on, roles, operations, byPriority, longest);
  }

  private Plan with(Set<FaultKind> o, List<Role> r, int count, boolean priority, int longest) {
    return new Plan(
        seed,
        theme,
        kind,
        durability,
        confirm,
        leases,
        widthMs,
        graceMs,
        leaseMs,
        ceilingAheadMs,
        restartNanos,
        umask,
        tickNanos,
        machines,
        users,
        logs,
        lastLogNanos,
        r,
        lingering,
        count,
        priority,
        longest,
        latencyNanos,
        ambushes,
        faultsEndNanos,
        o);
  }
}
