package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoredMessage;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.Share;
import dev.cinch.lease.hold.LeaseKeeper;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Two logs at numbered instants. A transfer is a debit in one log and, once that is committed, a
 * credit in the other, under one lease; whoever takes the lease finishes first what it finds half
 * done. Then a transfer counts from its credit on, and every cut is a state in which only whole
 * transfers count: no credit is seen without its debit, and under each lease at most the last debit
 * has no credit. Whoever counts debits too sees halves. Each cut gives at the end what it gave at
 * first.
 */
@SuppressWarnings({"NullAway", "NullAway.Init"}) // threads hand its fields on
class TransfersTest extends SessionRig {
  private static final int WORLDS = Share.of(200, 50);
  private static final int CUTS = 50; // in each
  private static final Duration SHORT = Duration.ofSeconds(5);
  private static final Instant MIN = Instant.MIN;
  private static final Instant MAX = Instant.MAX;
  private static final LogName OUT = new LogName("out");
  private static final LogName IN = new LogName("in");

  private Random random;
  private LeaseKeeper keeper;
  private int transfers;
  private int finished; // that another one had left half done

  /** Somebody who transfers under a lease as long as it has it, and may be paused at any time. */
  private final class Holder {
    private final LeaseName lease;
    private final Store store;
    private Session session;
    private String half;

    Holder(int number, LeaseName lease) throws Exception {
      this.lease = lease;
      long skew = random.nextLong(-400, 401) * MS; // as far as the store allows
      this.store = store(rig.disk.view(Rig.ALICE), rig.time.skewed(skew), "m" + number);
    }

    void step() throws Exception {
      if (session == null) {
        take();
      } else if (half == null) {
        String next = lease + " " + transfers++;
        if (appended(OUT, next)) {
          half = next;
        }
      } else if (appended(IN, half)) {
        half = null;
        if (random.nextInt(8) == 0) {
          session.close(); // gives the lease back
          session = null;
        }
      }
    }

    private void take() throws Exception {
      Session taken =
          Session.open(new Writers(store, Durability.SYNC), service, "h" + lease, keeper);
      try {
        taken.acquire(List.of(lease), SHORT);
      } catch (LeaseRefusedException e) {
        taken.close();
        return; // another one has it
      }
      session = taken;
      // Of a lease that was given back nothing need be settled, so that its next holder starts at
      // once. This one wants to know both logs up to now.
      new Closer(store, List.of(OUT, IN), null, new Closer.Listener() {})
          .await(OptionalLong.empty(), true);
      var open = new ArrayList<String>();
      for (String line : read(store, List.of(store.log(OUT), store.log(IN)), MIN, MAX).lines) {
        if (line.startsWith("out " + lease + " ")) {
          open.add(line.substring(4));
        } else {
          open.remove(line.substring(3));
        }
      }
      assertTrue(open.size() <= 1, open::toString);
      half = open.isEmpty() ? null : open.get(0);
      finished += open.size();
    }

    private boolean appended(LogName log, String text) throws Exception {
      try {
        return session.append(store.log(log), bytes(text)) instanceof Receipt.Committed;
      } catch (MessageRefusedException e) { // it slept, and the lease is lost
        session = null;
        half = null;
        return false;
      }
    }
  }

  /** What a reader finds: "log lease number", and the cut. */
  private record View(List<String> lines, Instant cut) {}

  private static View read(Store store, List<Log> logs, Instant from, Instant to) {
    var lines = new ArrayList<String>();
    try (Messages messages = store.messages(logs, from, to)) {
      StoredMessage last = null;
      while (messages.hasNext()) {
        StoredMessage m = messages.next();
        assertTrue(m.time().isBefore(messages.cut()));
        assertTrue(last == null || last.timestamp() <= m.timestamp());
        last = m;
        lines.add(m.log() + " " + new String(m.payload(), StandardCharsets.UTF_8));
      }
      return new View(lines, to);
    }
  }

  /** What a cut has of both logs, from a time on. */
  private static View read(Store store, StoreCut cut, Instant from) throws Exception {
    var cuts = new Cuts(store);
    var logs = new ArrayList<Log>();
    for (StoreCut.Part part : cut.logs()) {
      logs.add(cuts.open(cut, part, Long.MIN_VALUE));
    }
    return read(store, logs, from, Instant.EPOCH.plusNanos(cut.time()));
  }

  /** Whether nothing is half done but the last transfer of a lease. */
  private static int check(View view) {
    var debited = new HashSet<String>();
    var open = new HashMap<String, String>();
    int whole = 0;
    for (String line : view.lines) {
      String[] parts = line.split(" ");
      String transfer = parts[1] + " " + parts[2];
      if (parts[0].equals("out")) {
        assertTrue(debited.add(transfer), () -> "twice: " + view);
        String before = open.put(parts[1], transfer);
        assertEquals(null, before, () -> "half done, and another begun: " + view);
      } else {
        assertTrue(open.remove(parts[1], transfer), () -> "a credit without its debit: " + view);
        whole++;
      }
    }
    return whole;
  }

  private void settle(Store closer, LogName name) throws Exception {
    Log log = closer.log(name);
    log.horizon().advance(log.horizon().reachable(), OptionalLong.of(rig.time.wallNanos()));
  }

  private int world(int seed) throws Exception {
    begin();
    random = new Random(seed);
    Store closer = store("closer");
    Store reader = store("reader");
    var unused = List.of(closer.createLog(OUT), closer.createLog(IN));
    rig.time.advanceMs(1_000);
    var holders = new ArrayList<Holder>();
    int whole = 0;
    int halves = 0;
    View seen = new View(List.of(), MIN);
    var cuts = new Cuts(reader);
    var taken = new TreeMap<Long, Integer>(); // how many lines each has
    try (LeaseKeeper stepped = LeaseKeeper.stepped(rig.time)) {
      keeper = stepped;
      for (int i = 0; i < 4; i++) {
        holders.add(new Holder(i, new LeaseName("account/" + i % 2)));
      }
      settle(closer, OUT);
      settle(closer, IN);
      while (taken.size() < CUTS) {
        rig.time.advanceMs(random.nextInt(150));
        int which = random.nextInt(12);
        if (which < 6) {
          // The later half of them take over where the others sleep for longer than their leases.
          boolean first = (rig.time.wallNanos() / (6_000 * MS)) % 2 == 0;
          holders.get(random.nextInt(2) + (first ? 0 : 2)).step();
        } else if (which == 6) {
          settle(closer, random.nextBoolean() ? OUT : IN);
        } else {
          boolean all = taken.size() % 10 == 0; // else it goes on where the last one ended
          StoreCut cut = cuts.take(List.of(reader.log(IN), reader.log(OUT)));
          View view = read(reader, cut, all ? MIN : seen.cut);
          var lines = new ArrayList<>(all ? List.<String>of() : seen.lines);
          lines.addAll(view.lines);
          assertEquals(seen.lines, lines.subList(0, seen.lines.size()));
          assertTrue(!view.cut.isBefore(seen.cut));
          seen = new View(lines, view.cut);
          whole = check(seen);
          halves += lines.size() == 2 * whole ? 0 : 1;
          assertEquals(null, taken.put(cut.number(), lines.size()));
        }
      }
    }
    for (long number : taken.keySet()) {
      List<String> lines = seen.lines.subList(0, taken.get(number));
      assertEquals(lines, read(store("late"), cuts.find(number), MIN).lines);
    }
    assertTrue(whole > 0, "transfers were seen");
    return halves;
  }

  @Test
  @Tag("share")
  void noCutHasHalfATransfer() throws Exception {
    int halves = 0;
    for (int i = 0; i < WORLDS; i++) {
      halves += world(Share.from() + i);
    }
    assertTrue(halves > 10 * WORLDS, "cuts fell between debits and credits, " + halves + " times");
    assertTrue(finished > WORLDS / 2, finished + " transfers were finished by another holder");
  }
}
