package dev.cinch.lease.soak;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.client.LeaseEvent;
import dev.cinch.lease.client.LeaseWatch;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;

/** All kinds of things that clients do, one at a time. One for each thread; not thread-safe. */
final class Load {
  private static final long MS = 1_000_000;
  private static final long LONG_MS = 5_000;

  /** Of leases that nobody gives back. */
  private static final int SHORT_MS = 400;

  private static final int HOT = 16;
  private static final int LONGEST_WAIT_MS = 1_500;
  private static final String JSON = "application/json";

  private final URI server;
  private final HttpLeaseClient client;
  private final Ledger ledger;
  private final Tally tally;
  private final TimeSource time;
  private final BooleanSupplier over;
  private final int names;
  private final Random random;

  /** What one does. */
  @FunctionalInterface
  interface Step {
    void run()
        throws LeaseRefusedException, LeaseUnavailableException, IOException, InterruptedException;
  }

  /**
   * A kind of thing.
   *
   * @param weight how often it is done, beside the others
   */
  record Kind(String name, int weight, Step step) {}

  /** Those that wait for a second and more, and so need threads of their own. */
  final List<Kind> slow =
      List.of(new Kind("waits", 4, this::waits), new Kind("watches", 1, this::watches));

  final List<Kind> quick =
      List.of(
          new Kind("cycles", 30, this::cycles),
          new Kind("lapses", 4, this::lapses),
          new Kind("hangs up", 6, this::hangsUp),
          new Kind("batches", 4, this::batches),
          new Kind("batches of JSON", 4, this::batchesOfJson),
          new Kind("malformed", 8, this::malformed),
          new Kind("drops", 6, this::drops),
          new Kind("revokes", 1, this::revokes),
          new Kind("upgrades", 3, this::upgrades),
          new Kind("looks", 6, this::looks));

  /**
   * @param over whether the server is told to end, so that answers may be missing
   * @param names so many there are, besides a few that many want
   * @param seed of what is done, though not of when
   */
  Load(
      URI server,
      HttpLeaseClient client,
      Ledger ledger,
      Tally tally,
      TimeSource time,
      BooleanSupplier over,
      int names,
      long seed) {
    this.server = server;
    this.client = client;
    this.ledger = ledger;
    this.tally = tally;
    this.time = time;
    this.over = over;
    this.names = names;
    this.random = new Random(seed);
  }

  /** Does one of these. */
  void step(List<Kind> kinds) throws InterruptedException {
    int left = random.nextInt(kinds.stream().mapToInt(Kind::weight).sum());
    Kind chosen = kinds.get(0);
    for (Kind kind : kinds) {
      chosen = kind;
      left -= kind.weight();
      if (left < 0) {
        break;
      }
    }
    tally.count(chosen.name());
    try {
      chosen.step().run();
    } catch (LeaseRefusedException e) {
      tally.count("refused " + e.reason());
    } catch (LeaseUnavailableException | IOException e) {
      if (!over.getAsBoolean()) {
        tally.count("UNANSWERED");
        System.out.println(chosen.name() + ": " + e);
      }
    }
  }

  private Id id() {
    return Id.random(random);
  }

  private LeaseName name() {
    return new LeaseName("soak/" + random.nextInt(names));
  }

  private LeaseName hot() {
    return new LeaseName("hot/" + random.nextInt(HOT));
  }

  private Operation.Acquire request(List<LeaseName> wanted, long durationMs, boolean tentative) {
    return new Operation.Acquire(id(), wanted, "soak", durationMs, LogSet.ALL, tentative);
  }

  private Grant acquire(Operation.Acquire request, long waitMs)
      throws LeaseRefusedException, LeaseUnavailableException {
    long sent = time.monotonicNanos();
    return heard(client.acquire(request.waiting(waitMs)), sent, request.durationMs());
  }

  private Grant renew(Id id, long durationMs)
      throws LeaseRefusedException, LeaseUnavailableException {
    long sent = time.monotonicNanos();
    return heard(client.renew(id, durationMs, LogSet.NONE, LeaseReport.NOTHING), sent, durationMs);
  }

  private Grant heard(Grant grant, long sent, long durationMs) {
    long received = time.monotonicNanos();
    for (SignedWitness each : grant.witnesses()) {
      ledger.heard(each.witness(), sent, received, durationMs * MS);
    }
    return grant;
  }

  private void release(Grant grant) throws LeaseRefusedException, LeaseUnavailableException {
    releasing(grant);
    client.release(grant.id(), LeaseReport.NOTHING);
  }

  private void releasing(Grant grant) {
    grant.witnesses().forEach(w -> ledger.releasing(w.witness().name(), w.witness().correlation()));
  }

  private void cycles() throws LeaseRefusedException, LeaseUnavailableException {
    List<LeaseName> wanted =
        IntStream.rangeClosed(0, random.nextInt(3)).mapToObj(i -> name()).distinct().toList();
    Grant grant = acquire(request(wanted, LONG_MS, false), 0);
    for (int i = random.nextInt(3); i > 0; i--) {
      grant = renew(grant.id(), LONG_MS);
    }
    release(grant);
  }

  private void lapses() throws LeaseRefusedException, LeaseUnavailableException {
    var unused = acquire(request(List.of(name()), 1 + random.nextInt(SHORT_MS), false), 0);
  }

  /** In the queue, to its end or for as long as one waits; now and then once more. */
  private void waits()
      throws LeaseRefusedException, LeaseUnavailableException, InterruptedException {
    Operation.Acquire request = request(List.of(hot()), LONG_MS, false);
    Grant grant;
    try {
      grant = acquire(request, random.nextInt(LONGEST_WAIT_MS));
    } catch (LeaseRefusedException e) {
      tally.count("waits in vain");
      if (random.nextBoolean()) {
        throw e;
      }
      grant = acquire(request, random.nextInt(LONGEST_WAIT_MS));
    }
    time.sleepNanos(random.nextInt(SHORT_MS) * MS);
    release(renew(grant.id(), LONG_MS));
  }

  /** What it asked for may have been granted or not; it gives back what it can. */
  private void hangsUp() throws LeaseRefusedException, LeaseUnavailableException, IOException {
    Id id = id();
    try (var to = new Plain(server)) {
      to.post(
          "/v1/leases/acquire",
          JSON,
          "{\"id\":\"%s\",\"names\":[\"%s\"],\"holder\":\"soak\",\"durationMs\":%d,\"waitMs\":%d}"
              .formatted(id, hot(), 1 + random.nextInt(SHORT_MS), 30_000));
      if (random.nextBoolean()) {
        to.drop();
      }
    }
    if (random.nextInt(4) > 0) {
      client.release(id, LeaseReport.NOTHING);
    }
  }

  private void watches() throws LeaseUnavailableException, InterruptedException {
    List<LeaseName> few = random.nextBoolean() ? List.of(hot(), name()) : List.of();
    List<String> prefixes = few.isEmpty() ? List.of("hot/", "soak/1") : List.of();
    var watch = new LeaseWatch(client, few, prefixes, time);
    int events = random.nextInt(40);
    for (int i = 0; i < events && watch.next().kind() != LeaseEvent.Kind.SYNCED; i++) {
      tally.count("events");
    }
  }

  private void batches() throws LeaseRefusedException, LeaseUnavailableException {
    var asked = new ArrayList<Operation>();
    for (int i = random.nextInt(4); i >= 0; i--) {
      asked.add(request(List.of(name()), LONG_MS, false));
    }
    long sent = time.monotonicNanos();
    var after = new ArrayList<Operation>();
    for (Outcome each : client.carryOut(asked)) {
      if (each instanceof Outcome.Granted granted) {
        Grant grant = heard(granted.grant(), sent, LONG_MS);
        after.add(new Operation.Renew(grant.id(), LONG_MS, LogSet.NONE, LeaseReport.NOTHING));
        releasing(grant);
        after.add(new Operation.Release(grant.id(), LeaseReport.NOTHING));
      }
    }
    if (!after.isEmpty()) {
      var unused = client.carryOut(after);
    }
  }

  private void batchesOfJson() throws IOException {
    Id id = id();
    String acquire =
        "{\"acquire\":{\"id\":\"%s\",\"names\":[\"%s\"],\"holder\":\"soak\",\"durationMs\":%d}}"
            .formatted(id, name(), LONG_MS);
    String renew = "{\"renew\":{\"id\":\"%s\",\"durationMs\":%d}}".formatted(id, LONG_MS);
    String release = "{\"release\":{\"id\":\"%s\"}}".formatted(id);
    try (var to = new Plain(server)) {
      to.post(
          "/v1/leases/batch",
          JSON,
          "{\"operations\":[%s,%s,%s]}".formatted(acquire, renew, release));
      expect(to.status() == 200, "a batch of JSON was not answered with 200");
    }
  }

  private void malformed() throws IOException {
    try (var to = new Plain(server)) {
      String wrong = Malformed.send(to, random);
      expect(wrong.isEmpty(), wrong);
    }
  }

  private void expect(boolean so, String otherwise) {
    if (!so) {
      tally.count("WRONG");
      System.out.println(otherwise);
    }
  }

  /** Connections that end in the middle of a request, or before it is answered. */
  private void drops() throws IOException {
    var to = new Plain(server);
    switch (random.nextInt(3)) {
      case 0 -> to.send("GET /v1/time HTTP/1.1\r\nHo");
      case 1 ->
          to.send(
              "POST /v1/leases/renew HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{");
      default -> to.send("GET /v1/leases?limit=1000 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    }
    if (random.nextBoolean()) {
      to.drop();
    }
    to.close();
  }

  private void revokes() throws LeaseRefusedException, LeaseUnavailableException {
    LeaseName wanted = name();
    Grant grant = acquire(request(List.of(wanted), SHORT_MS, false), 0);
    Id correlation = grant.witnesses().get(0).witness().correlation();
    var unused = client.revoke(new Operation.Revoke(wanted, "soak", Optional.of(correlation)));
    boolean released = random.nextBoolean();
    if (released) {
      release(grant);
    } else {
      var never = renew(grant.id(), LONG_MS);
      expect(false, "a lease was renewed that was revoked");
    }
  }

  private void upgrades() throws LeaseRefusedException, LeaseUnavailableException {
    Grant grant = acquire(request(List.of(name(), hot()), LONG_MS, true), 0);
    if (random.nextBoolean()) {
      long sent = time.monotonicNanos();
      grant = heard(client.upgrade(grant.id(), LONG_MS), sent, LONG_MS);
    }
    release(grant);
  }

  private void looks() throws LeaseUnavailableException {
    switch (random.nextInt(6)) {
      case 0 -> expect(client.list("soak/", Optional.of(name()), 50).size() <= 50, "a long page");
      case 1 -> expect(client.info().ceilings(), "the server has no store");
      case 2 -> expect(client.health().instance().isPresent(), "no instance");
      case 3 -> expect(client.shards().map().count() == 1, "more than one shard");
      case 4 -> expect(client.now() > 0, "no time");
      default -> {
        var unused = client.show(name());
      }
    }
  }
}
