package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Acceptor;
import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.Message.Outbox;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Both sides of signing: a node signs what its own acceptor accepted and nothing else, and asks the
 * others to do so. What is asked for in one turn is signed together at its end. Not thread-safe,
 * but for {@link #notary}.
 */
final class Signing {
  /** The others are asked so much sooner than anybody is asked again. */
  private static final int SOONER = 10;

  private final Acceptor acceptor;
  private final Outbox out;
  private final Timers timers;
  private final List<Integer> nodes;
  private final CellSettings settings;

  /** Has what can't be signed yet asked for again; from any thread. */
  private final Consumer<Request.Again> later;

  private volatile @Nullable Notary notary;

  /** By the ballots of this node, each of which is of one attempt. */
  private final Map<Ballot, Gathering> gatherings = new HashMap<>();

  private record Asked(int from, Message.Sign sign) {}

  private final List<Asked> asked = new ArrayList<>();
  private final List<byte[]> statements = new ArrayList<>();

  Signing(
      Acceptor acceptor,
      Outbox out,
      Timers timers,
      List<Integer> nodes,
      CellSettings settings,
      Consumer<Request.Again> later) {
    this.later = later;
    this.acceptor = acceptor;
    this.out = out;
    this.timers = timers;
    this.nodes = nodes;
    this.settings = settings;
  }

  /** May be called on any thread. */
  void notary(Notary one) {
    notary = one;
  }

  /**
   * Asks as few as may be enough, since signing is what costs most; a little later all.
   *
   * @param holders nodes that have accepted it
   */
  void begin(Gathering gathering, List<Integer> holders, long now) {
    gatherings.put(gathering.ballot, gathering);
    ask(gathering, holders, now, settings.resendNanos() / SOONER);
  }

  /** Asks those that have not answered, or gives up. */
  void wake(Gathering gathering, long now) {
    if (now >= gathering.giveUpAt) {
      end(gathering, false);
    } else {
      ask(gathering, nodes, now, settings.resendNanos());
    }
  }

  private void ask(Gathering gathering, List<Integer> whom, long now, long patience) {
    timers.set(gathering, Math.min(gathering.giveUpAt, now + Math.max(1, patience)));
    for (int node : whom) {
      if (!gathering.answered.contains(node)) {
        out.send(node, new Message.Sign(gathering.name, gathering.ballot));
      }
    }
  }

  private void end(Gathering gathering, boolean enough) {
    timers.cancel(gathering);
    gatherings.remove(gathering.ballot, gathering);
    gathering.result.complete(enough);
  }

  /** A node asks; what was not accepted with exactly this ballot is not signed (rule P1). */
  void asked(int from, Message.Sign sign, long now) {
    Notary signer = notary;
    if (signer == null) {
      return;
    }
    Optional<Bytes> value = acceptor.accepted(sign.name(), sign.ballot(), now);
    Runnable again = () -> later.accept(new Request.Again(from, sign, new CompletableFuture<>()));
    Optional<byte[]> statement = value.flatMap(v -> signer.statement(sign.name(), v, again));
    if (statement.isPresent()) {
      asked.add(new Asked(from, sign));
      statements.add(statement.get());
    }
  }

  /** Signs what was asked for; returns how much that was. */
  int flush() {
    Notary signer = notary;
    if (asked.isEmpty() || signer == null) {
      return 0;
    }
    List<Asked> all = List.copyOf(asked);
    List<byte[]> what = List.copyOf(statements);
    asked.clear();
    statements.clear();
    List<Bytes> signatures = signer.sign(what);
    for (int i = 0; i < all.size(); i++) {
      Message.Sign sign = all.get(i).sign();
      if (signatures.get(i).size() <= settings.longestValue()) {
        out.send(
            all.get(i).from(), new Message.Signed(sign.name(), sign.ballot(), signatures.get(i)));
      }
    }
    return all.size();
  }

  void answered(int from, Message.Signed signed) {
    Gathering gathering = gatherings.get(signed.ballot());
    if (gathering != null
        && gathering.name.equals(signed.name())
        && gathering.answered.add(from)
        && gathering.to.take(from, signed.signature())) {
      end(gathering, true);
    }
  }

  void close() {
    List.copyOf(gatherings.values()).forEach(Gathering::close);
  }

  /** What nodes sign of a value that they accepted, until it is enough. */
  static final class Gathering extends Timers.Timer implements Request {
    final Bytes name;
    final Ballot ballot;
    final long giveUpAt;
    final Notary.Witnessed to;
    final CompletableFuture<Boolean> result = new CompletableFuture<>();

    /** Nodes that have answered. */
    final Set<Integer> answered = new HashSet<>();

    Gathering(Bytes name, Ballot ballot, long giveUpAt, Notary.Witnessed to) {
      this.name = name;
      this.ballot = ballot;
      this.giveUpAt = giveUpAt;
      this.to = to;
    }

    @Override
    public CompletableFuture<Boolean> result() {
      return result;
    }

    @Override
    public void close() {
      result.complete(false);
    }
  }
}
