package dev.cinch.sim;

import dev.cinch.bag.StoreCut;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.SignedWitness;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** What callers asked for and were told, to be compared with what is in the files. */
final class History {
  /** One message that somebody tried to append. */
  static final class Attempt {
    final int id;
    final int log;
    final int length;
    final String who;
    final List<Held> leases;
    boolean submitted;
    @Nullable Receipt receipt;

    Attempt(int id, int log, int length, String who, List<Held> leases) {
      this.id = id;
      this.log = log;
      this.length = length;
      this.who = who;
      this.leases = leases;
    }

    @Override
    public String toString() {
      return "#" + id + " of " + who + " in log " + log + " " + leases + ": " + receipt;
    }
  }

  /** One lease, as the service granted it. */
  static final class Held {
    final LeaseName name;
    final Id correlation;
    final long instance;
    final int order;
    final long grantedAt;
    long expiry;
    boolean released;

    /** Permits no writes, and is no more once somebody else takes the name. */
    boolean tentative;

    /** Whether its holder had to wait for the horizon. */
    boolean fenced;

    /** At a later instance, whether or not its holder heard of it. */
    boolean resumed;

    /** Ids that its holder found before it did anything; null if it never got to look. */
    @Nullable Set<Integer> found;

    /** Which log {@code found} is about. */
    int foundIn;

    Held(LeaseName name, Id correlation, long instance, int order, long at, long expiry) {
      this.name = name;
      this.correlation = correlation;
      this.instance = instance;
      this.order = order;
      this.grantedAt = at;
      this.expiry = expiry;
    }

    boolean before(Held other) {
      return instance != other.instance ? instance < other.instance : order < other.order;
    }

    @Override
    public String toString() {
      return name + "/" + instance + "." + order;
    }
  }

  /**
   * What a settled read gave once.
   *
   * @param floor before which messages may have expired under it
   */
  record View(String who, int log, long floor, long to, int[] ids, long[] times) {}

  final List<Attempt> attempts = new ArrayList<>();
  final Map<Id, Held> held = new LinkedHashMap<>();
  final List<View> views = new ArrayList<>();
  final List<String> violations = new ArrayList<>();

  /** The times up to which somebody saw that messages had expired, in each log. */
  final Map<Integer, TreeSet<Long>> floors = new HashMap<>();

  /** Logs that were settled to the end of time, each with the number of its last record. */
  final Map<Integer, Long> ended = new HashMap<>();

  /** Cuts that somebody was given, by their numbers. */
  final Map<Long, StoreCut> cuts = new TreeMap<>();

  /** What such a cut gave then, by its number and the log. */
  final Map<List<Long>, View> cutViews = new LinkedHashMap<>();

  /** Segments that expired. */
  int expired;

  /** A request may reach two instances, as when one was thought dead: each grants for itself. */
  private record Granted(LeaseService by, Id request) {}

  private final Map<Granted, List<Held>> byGrant = new HashMap<>();
  private final Set<String> said = new HashSet<>();

  Attempt attempt(int log, int length, String who, List<Held> leases) {
    var a = new Attempt(attempts.size(), log, Math.max(8, length), who, leases);
    attempts.add(a);
    return a;
  }

  static byte[] payload(Attempt a) {
    var bytes = new byte[a.length];
    Arrays.fill(bytes, (byte) (a.id * 7 + 1));
    ByteBuffer.wrap(bytes).putInt(a.id).putInt(a.length);
    return bytes;
  }

  /** The attempt that wrote a payload; null if nobody did. */
  @Nullable Attempt find(byte[] payload) {
    if (payload.length < 8) {
      return null;
    }
    int id = ByteBuffer.wrap(payload).getInt();
    if (id < 0 || id >= attempts.size()) {
      return null;
    }
    Attempt a = attempts.get(id);
    return Arrays.equals(payload, payload(a)) ? a : null;
  }

  /** An instance of the service granted or renewed: known even if nobody was told. */
  void granted(LeaseService by, Grant grant) {
    var leases = new ArrayList<Held>();
    for (SignedWitness s : grant.witnesses()) {
      var w = s.witness();
      Held h = held.get(w.correlation());
      if (h == null) {
        h =
            new Held(
                w.name(), w.correlation(), w.instance(), held.size(), w.issuedAt(), w.expiry());
        h.fenced = !w.fence().isNone();
        held.put(w.correlation(), h);
      }
      h.tentative = w.tentative();
      h.resumed |= w.resumed();
      h.expiry = Math.max(h.expiry, w.expiry());
      leases.add(h);
    }
    byGrant.put(new Granted(by, grant.id()), leases);
  }

  void released(LeaseService by, Id request) {
    byGrant.getOrDefault(new Granted(by, request), List.of()).forEach(h -> h.released = true);
  }

  List<Held> leases(Grant grant) {
    return grant.witnesses().stream().map(s -> held.get(s.witness().correlation())).toList();
  }

  /** Somebody saw a floor; one that is none counts for nothing. */
  void floor(int log, long to) {
    if (to > Long.MIN_VALUE) {
      floors.computeIfAbsent(log, i -> new TreeSet<>()).add(to);
    }
  }

  /** Whether a cut has an earlier time than one that had to wait for all of its logs, too. */
  private static boolean isBehind(StoreCut cut, StoreCut other) {
    return cut.time() < other.time() && names(other).containsAll(names(cut));
  }

  private static List<LogName> names(StoreCut cut) {
    return cut.logs().stream().map(StoreCut.Part::name).toList();
  }

  void cut(StoreCut cut) {
    StoreCut before = cuts.put(cut.number(), cut);
    if (before != null) {
      violation("a number was given twice: " + before + " and " + cut);
    }
    for (StoreCut other : cuts.values()) {
      if (other.number() < cut.number() && isBehind(cut, other)
          || other.number() > cut.number() && isBehind(other, cut)) {
        violation("the higher number has the lower time: " + other + " and " + cut);
      }
    }
  }

  void ended(int log, long number) {
    Long before = ended.putIfAbsent(log, number);
    if (before != null && before != number) {
      violation("log %d ended with record %d, and with %d".formatted(log, before, number));
    }
  }

  /** Each text once, since one fault shows in many places. */
  void violation(String text) {
    if (said.add(text) && violations.size() < 20) {
      violations.add(text);
    }
  }
}
