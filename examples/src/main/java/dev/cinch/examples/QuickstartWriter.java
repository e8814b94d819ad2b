package dev.cinch.examples;

import dev.cinch.bag.Log;
import dev.cinch.bag.Session;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.bag.write.PendingReceipt;
import dev.cinch.examples.Share.Line;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Witness;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.time.SystemTime;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;

/**
 * One writer of the quickstart, a process that stands for a machine: its own name, its own wrong
 * clock. It appends its share of the lines, each under its unit's lease, which all writers want;
 * then does what it is told on standard input. It tells what happens on standard output, a line
 * each.
 */
public final class QuickstartWriter {
  /** Longer than bucket width + grace + margins of the default settings. */
  private static final Duration LEASE = Duration.ofSeconds(5);

  /** The victim stops half-way through this hold and waits to be killed. */
  private static final int FATAL_HOLD = 4;

  private final int number;
  private final boolean victim;
  private final Log log;
  private final Session session;
  private final List<Line> lines;
  private long sent;
  private int holds;

  private QuickstartWriter(int number, boolean victim, Log log, Session session, List<Line> lines) {
    this.number = number;
    this.victim = victim;
    this.log = log;
    this.session = session;
    this.lines = lines;
  }

  /** Arguments: store, log, server, number, clock offset in ms, whether it is the victim, files. */
  public static void main(String[] args) throws Exception {
    Warnings.only();
    int number = Integer.parseInt(args[3]);
    var time = new SystemTime(Long.parseLong(args[4]) * 1_000_000);
    var environment = Store.Environment.of(new MachineName("machine-" + number), time);
    Store store = Store.open(Path.of(args[0]), environment);
    var files = Arrays.stream(args).skip(6).map(Path::of).toList();
    var client = HttpLeaseClient.builder(URI.create(args[2])).build();
    var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try (Session session = Session.open(store, client, "writer-" + number)) {
      var writer =
          new QuickstartWriter(
              number,
              Boolean.parseBoolean(args[5]),
              store.log(new LogName(args[1])),
              session,
              Share.read(files));
      writer.appendAll(writer.shareOf(number));
      say("DONE");
      for (String order = in.readLine(); order != null; order = in.readLine()) {
        String[] words = order.split(" ");
        writer.takeOver(Integer.parseInt(words[1]), words[2]);
        say("DONE");
      }
    }
  }

  private static void say(String line) {
    System.out.println(line);
  }

  private List<Line> shareOf(int writer) {
    return lines.stream().filter(l -> l.writer() == writer).toList();
  }

  /** Goes round the units, taking a unit's lease for a chunk of its lines at a time. */
  private void appendAll(List<Line> share) throws Exception {
    Map<String, List<Line>> left = new HashMap<>();
    for (Line line : share) {
      left.computeIfAbsent(line.unit(), u -> new ArrayList<>()).add(line);
    }
    for (int i = number; !left.isEmpty(); i++) {
      String unit = "unit-" + i % Share.UNITS;
      List<Line> of = left.get(unit);
      if (of != null) {
        Grant grant = take(unit);
        appendUnder(grant, of.subList(0, Math.min(Share.CHUNK, of.size())));
        session.release();
        if (of.size() > Share.CHUNK) {
          left.put(unit, of.subList(Share.CHUNK, of.size()));
        } else {
          left.remove(unit);
        }
      }
    }
  }

  private Grant take(String unit) throws Exception {
    boolean said = false;
    while (true) {
      long began = System.nanoTime();
      try {
        Grant grant = session.acquire(List.of(new LeaseName(unit)), LEASE);
        Witness w = grant.witnesses().get(0).witness();
        say("GRANT " + unit + " " + w.generation());
        Fence fence = session.fence(w.name());
        if (!fence.isNone()) {
          say(
              "took %s over through the fence: its lease had ended %s; everything before %s is settled; generation %d, after %d ms"
                  .formatted(
                      unit,
                      w.previousEnding(),
                      Instant.EPOCH.plusNanos(fence.upTo()),
                      w.generation(),
                      (System.nanoTime() - began) / 1_000_000));
        }
        return grant;
      } catch (LeaseRefusedException e) {
        if (e.reason() != LeaseRefusedException.Reason.HELD
            && e.reason() != LeaseRefusedException.Reason.NOT_YET) {
          throw e;
        }
        if (!said) {
          said = true;
          say("WAIT " + unit);
        }
        Thread.sleep(20 + ThreadLocalRandom.current().nextInt(40));
      }
    }
  }

  private void appendUnder(Grant grant, List<Line> chunk) throws Exception {
    if (victim && ++holds == FATAL_HOLD) {
      die(grant, chunk);
    }
    List<Line> todo = chunk;
    while (!todo.isEmpty()) {
      var pending = new ArrayList<PendingReceipt>();
      for (Line line : todo) {
        byte[] m = line.message(number, sent++);
        pending.add(session.submit(log, m));
      }
      var again = new ArrayList<Line>();
      for (int i = 0; i < pending.size(); i++) {
        if (pending.get(i).await() instanceof Receipt.Rejected r) {
          say("REJECTED " + todo.get(i).number() + " " + r.reason());
          again.add(todo.get(i));
        }
      }
      todo = again; // a rejected message never appears, so it may be sent again (rule A3)
    }
  }

  /**
   * Appends without an end until it is killed, so that it dies in the middle of something, holding
   * the lease.
   */
  private void die(Grant grant, List<Line> chunk) throws MessageRefusedException {
    int i = 0;
    for (Line line : chunk) {
      Receipt unused = session.append(log, line.message(number, sent++));
      if (++i == chunk.size() / 2) {
        say("HOLDING " + grant.witnesses().get(0).witness().name());
      }
    }
    while (true) {
      Thread.onSpinWait();
    }
  }

  /**
   * Takes a dead writer's lease, which waits for the fence; then what is settled tells exactly
   * which of its lines exist.
   */
  private void takeOver(int dead, String unit) throws Exception {
    Grant grant = take(unit);
    Set<Integer> there = settledLines();
    List<Line> missing = shareOf(dead).stream().filter(l -> !there.contains(l.number())).toList();
    say(
        "holds %s and goes on for writer %d: %d of its lines are settled, %d are not and never will be"
            .formatted(unit, dead, shareOf(dead).size() - missing.size(), missing.size()));
    appendUnder(grant, missing.stream().filter(l -> l.unit().equals(unit)).toList());
    release();
    appendAll(missing.stream().filter(l -> !l.unit().equals(unit)).toList());
  }

  private void release() throws LeaseUnavailableException {
    session.release();
  }

  private Set<Integer> settledLines() throws IOException {
    var there = new HashSet<Integer>();
    log.reader()
        .settled(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            true,
            m -> there.add(Sent.parse(m.payload()).number()) || true,
            (m, file, why) -> say("IGNORED " + file + " " + why));
    return there;
  }
}
