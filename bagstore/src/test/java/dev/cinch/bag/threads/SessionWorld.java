package dev.cinch.bag.threads;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Session;
import dev.cinch.bag.Store;
import dev.cinch.bag.Writers;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.bag.threads.Told.Found;
import dev.cinch.lease.Altered;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.hold.LeaseKeeper;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Threads that share sessions, which take the same leases from each other: two on the same writers,
 * one with writers and a keeper of its own, and one of another process that has no trouble.
 */
final class SessionWorld extends World {
  private static final LogName LATE = new LogName("late");
  private static final List<LeaseName> NAMES = List.of(new LeaseName("a"), new LeaseName("b"));
  private static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);

  private final LeaseNotes notes = new LeaseNotes();
  private final ServiceInstance service;
  private final LeaseKeeper keeper;

  /** Draws who holds what to begin with. */
  private final Random starts;

  private final List<Writers> shared = new ArrayList<>();
  private final Slot[] slots = new Slot[4];
  private final Queue<Session> all = new ConcurrentLinkedQueue<>();
  private final Set<Session> ended = ConcurrentHashMap.newKeySet();
  private final ThreadLocal<Boolean> acquiring = ThreadLocal.withInitial(() -> false);

  /** Where a session stands, and another one once it has ended. */
  private final class Slot {
    final int number;
    final Store of;
    final Log jobs;
    volatile Log late;
    volatile Session session;

    Slot(int number, Store of) throws IOException {
      this.number = number;
      this.of = of;
      this.jobs = of.log(Rig.JOBS);
    }

    void open() {
      Session[] made = new Session[1];
      LeaseService leases =
          new WatchedLeases(
              service,
              of == elsewhere ? calm : trouble,
              notes::granted,
              (id, report) -> releasing(made[0], id, report));
      String holder = "s" + number;
      made[0] =
          number < 2
              ? Session.open(shared.get(0), leases, holder, keeper)
              : number == 2
                  ? Session.open(of, leases, holder)
                  : Session.open(shared.get(1), leases, holder, keeper);
      made[0].listen((names, why) -> trouble.pass("told of a loss"));
      session = made[0];
      all.add(made[0]);
    }
  }

  SessionWorld(long seed) throws IOException {
    super(seed, settings(seed));
    starts = new Random(seed);
    assertEquals(1, TrustedKeyFiles.add(elsewhere.context(), KEY));
    service =
        ServiceInstance.builder(new WitnessSigner(KEY), rig.time)
            .storeInCallers()
            .registry(new StoreInstances(elsewhere.context(), KEY))
            .start();
    keeper = LeaseKeeper.stepped(rig.time);
  }

  private static StoreSettings settings(long seed) {
    StoreSettings d = StoreSettings.DEFAULT;
    return Altered.with(
        d, "leases", seed % 2 == 0 ? StoreSettings.Leases.REQUIRED : StoreSettings.Leases.OPTIONAL);
  }

  @Override
  void begin() throws Exception {
    shared.add(new Writers(store, Durability.SYNC));
    shared.add(new Writers(elsewhere, Durability.SYNC));
    for (int i = 0; i < slots.length; i++) {
      slots[i] = new Slot(i, i == 3 ? elsewhere : store);
      slots[i].open();
    }
    if (starts.nextInt(4) > 0) {
      acquire(slots[0].session, starts);
    }
  }

  /** Rule L2. */
  private void releasing(Session session, Id id, LeaseReport report) {
    notes.released(id, report);
    if (!acquiring.get()) {
      allDone(sentTo(session), "at a release");
    }
  }

  @Override
  Step draw(Caller caller, Random random) {
    Slot slot = slots[random.nextInt(3) == 0 ? random.nextInt(slots.length) : 0];
    Session s = slot.session;
    Log late = slot.late;
    Log to = late != null && random.nextBoolean() ? late : slot.jobs;
    int roll = random.nextInt(100);
    if (roll < 28) {
      return () -> caller.append(to, random, p -> s.append(to, p));
    }
    if (roll < 46) {
      boolean needsThread = roll < 40;
      return () ->
          caller.submit(to, s, needsThread, random, p -> s.submit(to, p, 0, p.length, needsThread));
    }
    if (roll < 52) {
      return () -> caller.awaitOne(random);
    }
    if (roll < 68) {
      return () -> acquire(s, random);
    }
    if (roll < 73) {
      return () -> release(s);
    }
    if (roll < 76) {
      return () -> {
        end(s);
        slot.open();
      };
    }
    if (roll < 82) {
      return this::keep;
    }
    if (roll < 86) {
      return () -> caller.interruptSomebody(random);
    }
    if (roll < 90) {
      return () -> close(random);
    }
    if (roll < 93) {
      return this::read;
    }
    return roll < 97 ? () -> caller.pause(random) : () -> makeLog(slot);
  }

  private void acquire(Session session, Random random) throws Exception {
    List<LeaseName> names = random.nextInt(3) == 0 ? NAMES : List.of(NAMES.get(random.nextInt(2)));
    Duration duration = Duration.ofSeconds(random.nextBoolean() ? 6 : 30);
    Grant grant;
    acquiring.set(true);
    try {
      grant = session.acquire(names, duration);
    } catch (LeaseRefusedException | LeaseUnavailableException | IOException e) {
      trouble.note("not acquired: " + e);
      return;
    } catch (InterruptedException e) {
      throw e;
    } catch (RuntimeException | Error e) {
      if (!ended.contains(session)) {
        permit(e);
      }
      return;
    } finally {
      acquiring.set(false);
    }
    trouble.note("acquired " + names);
    look(grant);
  }

  private void look(Grant grant) throws Exception {
    var seen = new HashSet<String>();
    for (Log l : logs()) {
      Told.read(l, true).forEach(f -> seen.add(f.text()));
    }
    notes.looked(grant, seen);
  }

  private void release(Session session) throws Exception {
    try {
      trouble.note("released: " + session.release());
    } catch (LeaseUnavailableException e) {
      trouble.note("not released: " + e);
    } catch (RuntimeException | Error e) {
      permit(e);
    }
  }

  private void end(Session session) throws Exception {
    List<Sent> before = sentTo(session);
    ended.add(session);
    try {
      trouble.note("ended: " + session.end());
    } catch (LeaseUnavailableException e) {
      trouble.note("not ended: " + e);
    } catch (RuntimeException | Error e) {
      permit(e);
      return;
    }
    allDone(before, "after a session's end");
  }

  private void keep() throws Exception {
    synchronized (keeper) {
      try {
        trouble.note("kept: " + keeper.doWork());
      } catch (RuntimeException | Error e) {
        permit(e);
      }
    }
  }

  private void makeLog(Slot slot) throws Exception {
    try {
      slot.late = slot.of.createLog(LATE);
    } catch (IOException e) {
      trouble.note("not made: " + e);
    } catch (RuntimeException | Error e) {
      permit(e);
    }
  }

  @Override
  void end() throws Exception {
    for (Session s : all) {
      end(s);
    }
    for (Writers w : shared) {
      try {
        w.close();
      } catch (RuntimeException | Error e) {
        permit(e);
      }
    }
    // What nobody gave back runs out: no session is left that renews it.
    for (int i = 0; i < 61; i++) {
      rig.time.advanceMs(1_000);
      keep();
    }
    for (LeaseName name : NAMES) {
      boolean held = service.show(name).filter(i -> i.state() == LeaseInfo.State.HELD).isPresent();
      assertTrue(!held, () -> "still held: " + name);
    }
    try (Session last = Session.open(elsewhere, service, "last")) {
      look(last.acquire(NAMES, Duration.ofSeconds(10)));
    }
  }

  @Override
  void check() throws Exception {
    var found = new ArrayList<Found>();
    for (Log l : logs()) {
      found.addAll(Told.read(l, false));
    }
    notes.check(found);
  }
}
