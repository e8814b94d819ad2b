package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Acceptor;
import dev.cinch.lease.cell.Algorithm;
import dev.cinch.lease.cell.Ballot.Ballots;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Cell;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.Message.Memory;
import dev.cinch.lease.cell.Message.Outbox;
import dev.cinch.lease.cell.net.Questions.Inquiry;
import dev.cinch.lease.cell.net.Questions.Listing;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A node without its thread: machines, timers and datagrams, driven by turns. A turn takes what has
 * come, handles it, and sends what is ready. Not thread-safe, but for what {@link Request.Waiting}
 * is.
 */
final class CellLoop {
  private static final Logger LOG = LoggerFactory.getLogger(CellLoop.class);

  /** Datagrams that a turn takes, so that timers and callers get theirs too. */
  private static final int TURN = 256;

  /** Requests that a turn begins. */
  private static final int BEGINNINGS = 4_096;

  /** How often the acceptor forgets, and what part of its names it looks at. */
  private static final long SWEEP_NANOS = 100_000_000;

  private static final int SWEEP_PART = 128;

  /** How often it is told that datagrams were lost: whoever hears it asks for much anew. */
  private static final long LOSS_NANOS = 1_000_000_000;

  /** So many names are asked for at once that this acceptor was not told of. */
  private static final int MOST_UNHEARD = 1_024;

  /** For so long an acceptor counts as one that answers: it is asked every second. */
  private static final long MOMENT_NANOS = 3_000_000_000L;

  private final int self;
  private final Algorithm algorithm;
  private final CellSettings settings;
  private final LongSupplier clock;
  private final Link link;
  private final Request.Waiting requests;

  private final Ballots ballots;
  private final Acceptor acceptor;
  private final Datagrams datagrams;
  private final ByteBuffer buffer = ByteBuffer.allocate(Datagrams.LARGEST + 1);

  /** From this node to itself. */
  private final ArrayDeque<Message> within = new ArrayDeque<>();

  private final HeldNames holdings;
  private final Questions questions;

  /** Of pursuits and inquiries; few, and changing all the time. */
  private final Timers attempts = new Timers();

  private final Outbox out = this::send;
  private final Outbox fromAcceptor = this::answer;

  /** Whether the acceptor has just accepted a value. */
  private boolean accepted;

  /** Told of values that the acceptor accepts, and of those that it was not sent. */
  private final List<BiConsumer<Bytes, Bytes>> listeners = new CopyOnWriteArrayList<>();

  /** Whether listeners may not have been told of something. */
  private boolean missed;

  /** Before it nobody is told of one more loss. */
  private long nextLossAt = Long.MIN_VALUE;

  /** Told that datagrams of nodes were lost. */
  private final List<Runnable> losses = new CopyOnWriteArrayList<>();

  private final Datagrams.Receiver receiver = this::receive;
  private long messagesWithin;

  private long sweepAt;
  private long faults;

  /**
   * @param self id of the node
   * @param first whether the cell is new
   */
  CellLoop(
      int self, int boot, boolean first, CellSettings.CellParts parts, Request.Waiting requests) {
    this.self = self;
    this.algorithm = parts.algorithm();
    this.settings = parts.settings();
    this.clock = parts.clock();
    this.link = parts.link();
    this.requests = requests;
    List<Integer> nodes = parts.nodes();
    var cell = new Cell(nodes, List.of());
    this.ballots = new Ballots(self, boot);
    this.acceptor = algorithm.acceptor(boot, clock.getAsLong(), first);
    acceptor.limit(settings.rowBytes());
    List<Integer> others = nodes.stream().filter(node -> node != self).toList();
    this.holdings = new HeldNames(parts, cell, ballots, attempts, out);
    this.questions = new Questions(parts, cell.majority(), attempts, out);
    this.datagrams =
        new Datagrams(self, boot, others, parts.key(), settings.datagramBytes(), link, clock);
  }

  /** Does what is to be done now; returns whether that was anything. */
  boolean turn() {
    int taken = take();
    int done = drainWithin() + due() + begin();
    done += drainWithin();
    datagrams.flush();
    return taken + done > 0;
  }

  /** Whether a request waits that can begin now. */
  boolean canBegin() {
    return requests.canBegin(holdings.underWay());
  }

  /** Waits until there may be something to do. */
  void await() throws IOException {
    long next = Math.min(attempts.next(), holdings.next());
    if (acceptor.size() > 0) {
      next = Math.min(next, sweepAt);
    }
    link.await(next == Long.MAX_VALUE ? next : Math.max(0, next - clock.getAsLong()));
  }

  /** Takes datagrams. */
  private int take() {
    int count = 0;
    try {
      while (count < TURN && link.receive(buffer.clear())) {
        count++;
        try {
          datagrams.open(buffer.flip(), clock.getAsLong(), receiver);
        } catch (RuntimeException e) {
          failed(e);
        }
      }
      long now = clock.getAsLong();
      missed |= datagrams.hasMissed();
      if (missed && now >= nextLossAt) {
        missed = false;
        nextLossAt = now + LOSS_NANOS;
        losses.forEach(Runnable::run);
      }
    } catch (IOException e) {
      LOG.debug("receiving: {}", String.valueOf(e.getMessage())); // as if it were lost
    }
    return count;
  }

  /** A handler did not do what it should: the node goes on without it. */
  private void failed(RuntimeException e) {
    if (faults++ == 0) {
      LOG.error("a handler of node {} failed; further ones are counted only", self, e);
    }
  }

  private void send(int to, Message message) {
    if (to == self) {
      within.add(message);
    } else {
      datagrams.add(to, message);
    }
  }

  /** Messages to itself take the way of all others, but for the network (rule P5). */
  private int drainWithin() {
    int count = 0;
    for (Message m = within.poll(); m != null; m = within.poll()) {
      try {
        receive(self, m, clock.getAsLong());
      } catch (RuntimeException e) {
        failed(e);
      }
      count++;
    }
    messagesWithin += count;
    return count;
  }

  private void receive(int from, Message message, long now) {
    if (message instanceof Message.Promise
        || message instanceof Message.Accepted
        || message instanceof Message.Reject) {
      holdings.receive(from, message, now);
    } else if (message instanceof Message.Told told) {
      questions.told(from, told);
    } else if (message instanceof Message.Names names) {
      names(from, names, now);
    } else if (message instanceof Message.Named named) {
      questions.named(from, named, now);
    } else {
      accept(from, message, now);
    }
  }

  private void accept(int from, Message message, long now) {
    accepted = false;
    acceptor.receive(from, message, now, fromAcceptor);
    if (accepted && message instanceof Message.Accept accept) {
      written(accept.name(), accept.value());
    } else if (message instanceof Message.Release release) {
      released(release, now);
    }
  }

  /**
   * An acceptor whose promise came late, or that refused the value, is not sent it once the name is
   * given back. Others know it.
   */
  private void released(Message.Release release, long now) {
    if (listeners.isEmpty()
        || now < acceptor.quarantinedUntil()
        || acceptor.hasAcceptedSince(release.name(), release.last())) {
      return;
    }
    if (questions.names() >= MOST_UNHEARD) {
      missed = true;
      return;
    }
    var inquiry = new Inquiry(release.name(), now + MOMENT_NANOS);
    var unused =
        inquiry.result.thenAccept(
            answer -> {
              missed |= answer.isEmpty();
              answer.filter(Memory::known).ifPresent(last -> written(release.name(), last.value()));
            });
    questions.begin(inquiry, now);
  }

  private void written(Bytes name, Bytes value) {
    for (BiConsumer<Bytes, Bytes> listener : listeners) {
      listener.accept(name, value);
    }
  }

  private void answer(int to, Message message) {
    accepted |= message instanceof Message.Accepted;
    send(to, message);
  }

  /** May be called on any thread. */
  void listen(BiConsumer<Bytes, Bytes> listener) {
    listeners.add(listener);
  }

  /** May be called on any thread. */
  void onLoss(Runnable lost) {
    losses.add(lost);
  }

  private int due() {
    long now = clock.getAsLong();
    int count = 0;
    for (Timers.Timer t = attempts.due(now); t != null; t = attempts.due(now)) {
      try {
        wake(t, now);
      } catch (RuntimeException e) {
        failed(e);
      }
      count++;
    }
    count += holdings.due(now);
    if (now >= sweepAt && acceptor.size() > 0) {
      acceptor.sweep(now, 1 + acceptor.size() / SWEEP_PART);
      sweepAt = now + SWEEP_NANOS;
    }
    return count;
  }

  private void wake(Timers.Timer timer, long now) {
    if (timer instanceof Questions.Question<?> question) {
      questions.wake(question, now);
    } else if (timer instanceof HeldNames.Pursuit pursuit) {
      holdings.wake(pursuit, now);
    }
  }

  /** Begins what callers asked for: renewals first, and no more than can be under way. */
  private int begin() {
    int count = 0;
    while (count < BEGINNINGS) {
      Request request = requests.poll(holdings.underWay());
      if (request == null) {
        break;
      }
      try {
        begin(request, clock.getAsLong());
      } catch (RuntimeException e) {
        failed(e);
        request.result().completeExceptionally(e);
      }
      count++;
    }
    return count;
  }

  private void begin(Request request, long now) {
    if (request instanceof HeldNames.Pursuit pursuit) {
      holdings.begin(pursuit, now);
    } else if (request instanceof Request.Release release) {
      release.result().complete(holdings.release(release, now));
    } else if (request instanceof Questions.Question<?> question) {
      questions.begin(question, now);
    } else if (request instanceof Request.Status status) {
      status.result().complete(status(now));
    }
  }

  private void names(int from, Message.Names wanted, long now) {
    if (now < acceptor.quarantinedUntil()) { // rule P5
      return;
    }
    int most = Math.min(wanted.limit(), Listing.AT_ONCE);
    List<Bytes> known = acceptor.names(wanted.prefix(), wanted.name(), most + 1);
    boolean all = known.size() <= most;
    List<Bytes> found = all ? known : known.subList(0, most);
    int room =
        settings.datagramBytes() - Datagrams.HEADER - Seal.BYTES - MessageCodec.NAMED_WITHOUT_NAMES;
    ByteBuffer part = ByteBuffer.allocate(room);
    int told = 0;
    int inPart = 0;
    for (Bytes name : found) {
      if (part.remaining() < 1 + name.size()) {
        send(from, named(wanted, told, Message.Named.End.MORE, part));
        told += inPart;
        inPart = 0;
        part.clear();
      }
      part.put((byte) name.size()).put(name.toArray());
      inPart++;
    }
    send(from, named(wanted, told, all ? Message.Named.End.ALL : Message.Named.End.ENOUGH, part));
  }

  private static Message.Named named(
      Message.Names to, int from, Message.Named.End end, ByteBuffer part) {
    var names = new byte[part.position()];
    part.flip().get(names);
    return new Message.Named(Listing.LOWEST, to.token(), from, end, Bytes.of(names));
  }

  Acceptor acceptor() {
    return acceptor;
  }

  CellStatus status(long now) {
    var peers = new ArrayList<CellStatus.Peer>();
    long askedAt = questions.askedAt();
    int answering = now < acceptor.quarantinedUntil() ? 0 : 1;
    for (Peer peer : datagrams.peers()) {
      answering += peer.answeredAt >= 0 && now - peer.answeredAt <= MOMENT_NANOS ? 1 : 0;
      peers.add(new CellStatus.Peer(peer.id, peer.heardAt, peer.boot, peer.ahead));
    }
    return new CellStatus(
        self,
        ballots.boot(),
        now,
        acceptor.quarantinedUntil(),
        acceptor.size(),
        holdings.size(),
        holdings.underWay(),
        askedAt >= 0 && now - askedAt <= MOMENT_NANOS ? answering : -1,
        ballots.counter(),
        ballots.given(),
        faults,
        datagrams.traffic(messagesWithin),
        peers);
  }

  /**
   * Ends all that callers wait for, and gives back what nobody needs: what was released already,
   * and what attempts may have left at acceptors. Else others would wait for the end of it. What a
   * caller still holds ends by itself.
   */
  void close() {
    long now = clock.getAsLong();
    holdings.giveUp(now);
    questions.close();
    releaseRest(now); // of callers too that have just heard of the end
    datagrams.flush();
  }

  private void releaseRest(long now) {
    for (Request r = requests.pollQuick(); r != null; r = requests.pollQuick()) {
      if (r instanceof Request.Release release) {
        release.result().complete(holdings.release(release, now));
      } else {
        r.close();
      }
    }
    holdings.endLingers(now);
  }
}
