package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.Message.Memory;
import dev.cinch.lease.cell.Message.Named;
import dev.cinch.lease.cell.Message.Names;
import dev.cinch.lease.cell.Message.Outbox;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** What a node asks all acceptors: for single names, and for lists of them. Not thread-safe. */
final class Questions {
  private final CellSettings.CellParts parts;
  private final int majority;
  private final Timers attempts;
  private final Outbox out;
  private final Map<Bytes, List<Inquiry>> inquiries = new HashMap<>();
  private final List<Listing> listings = new ArrayList<>();
  private long askedAt = -1;

  /** Of questions for names, so that each answer is known for one to the last of them. */
  private long tokens;

  /**
   * @param attempts who finds a question due calls {@code wake}
   */
  Questions(CellSettings.CellParts parts, int majority, Timers attempts, Outbox out) {
    this.parts = parts;
    this.majority = majority;
    this.attempts = attempts;
    this.out = out;
  }

  /** For how many names it asks. */
  int names() {
    return inquiries.size();
  }

  /** When it was last known whether a majority answers; -1 if it never was. */
  long askedAt() {
    return askedAt;
  }

  void begin(Question<?> question, long now) {
    if (question instanceof Inquiry inquiry) {
      inquiries.computeIfAbsent(inquiry.name, name -> new ArrayList<>(1)).add(inquiry);
    } else if (question instanceof Listing listing) {
      listings.add(listing);
    }
    ask(question, now);
  }

  void wake(Question<?> question, long now) {
    if (now >= question.giveUpAt) {
      end(question, false);
    } else {
      ask(question, now);
    }
  }

  private void ask(Question<?> question, long now) {
    askAgainLater(question, now);
    parts.nodes().forEach(node -> ask(question, node));
  }

  private void askAgainLater(Question<?> question, long now) {
    attempts.set(question, Math.min(question.giveUpAt, now + parts.settings().resendNanos()));
  }

  private void ask(Question<?> question, int node) {
    question.next(node, ++tokens).ifPresent(message -> out.send(node, message));
  }

  void told(int from, Message.Told told) {
    for (Inquiry inquiry : List.copyOf(inquiries.getOrDefault(told.name(), List.of()))) {
      if (inquiry.add(from, told.memory()) >= majority) {
        end(inquiry, true);
      }
    }
  }

  void named(int from, Named named, long now) {
    for (Listing listing : List.copyOf(listings)) {
      if (listing.take(from, named)) {
        askAgainLater(listing, now);
        ask(listing, from);
      } else if (listing.enough() >= majority) {
        end(listing, true);
      }
    }
  }

  private void end(Question<?> question, boolean enough) {
    attempts.cancel(question);
    if (question instanceof Inquiry inquiry) {
      askedAt = parts.clock().getAsLong();
      List<Inquiry> asked = inquiries.get(inquiry.name);
      if (asked != null && asked.remove(inquiry) && asked.isEmpty()) {
        inquiries.remove(inquiry.name);
      }
    } else {
      listings.remove(question);
    }
    question.complete(enough);
  }

  void close() {
    inquiries.values().forEach(asked -> asked.forEach(Inquiry::close));
    listings.forEach(Listing::close);
  }

  /**
   * One of them.
   *
   * @param <T> what the answers come to
   */
  abstract static non-sealed class Question<T> extends Timers.Timer implements Request {
    final long giveUpAt;
    final CompletableFuture<Optional<T>> result = new CompletableFuture<>();

    Question(long giveUpAt) {
      this.giveUpAt = giveUpAt;
    }

    /**
     * What to ask a node for, unless it has answered enough.
     *
     * @param token that no question had before
     */
    abstract Optional<? extends Message> next(int node, long token);

    /** What the answers of a majority come to. */
    abstract Optional<T> answer();

    /**
     * Ends it.
     *
     * @param enough whether a majority has answered: what fewer know is not what the cell knows
     */
    final void complete(boolean enough) {
      result.complete(enough ? answer() : Optional.empty());
    }

    @Override
    public CompletableFuture<Optional<T>> result() {
      return result;
    }

    @Override
    public void close() {
      complete(false);
    }
  }

  /** What acceptors know of a name. */
  static final class Inquiry extends Question<Memory> {
    final Bytes name;
    private final Set<Integer> answered = new HashSet<>();
    private @Nullable Memory best;

    Inquiry(Bytes name, long giveUpAt) {
      super(giveUpAt);
      this.name = name;
    }

    @Override
    Optional<Message.Query> next(int node, long token) {
      return answered.contains(node) ? Optional.empty() : Optional.of(new Message.Query(name));
    }

    /** Takes an answer; returns how many nodes have given one. */
    int add(int node, Memory memory) {
      if (answered.add(node) && (best == null || isBetter(memory, best))) {
        best = memory;
      }
      return answered.size();
    }

    /** The last lease that is known says the most; of nothing, what is said of the least time. */
    private static boolean isBetter(Memory one, Memory other) {
      return one.known() || other.known()
          ? other.ballot().below(one.ballot())
          : one.nanos() < other.nanos();
    }

    @Override
    Optional<Memory> answer() {
      return Optional.ofNullable(best);
    }
  }

  /**
   * Which names acceptors know. What a majority has accepted, one of any majority names: so the
   * names of a majority are all.
   */
  static final class Listing extends Question<List<Bytes>> {
    /** Below all names, and in place of one. */
    static final Bytes LOWEST = Bytes.of(new byte[1]);

    /** What an acceptor names at once. */
    static final int AT_ONCE = 1_000;

    private final Bytes prefix;
    private final Bytes after;
    private final int limit;
    private final Map<Integer, Answer> answers = new HashMap<>();

    /** What one of them has named so far. */
    private final class Answer {
      final NavigableSet<Bytes> names = new TreeSet<>();
      Bytes upTo = after;
      long token;
      int taken;
      boolean all;

      boolean isEnough() {
        return all || names.size() >= limit;
      }
    }

    /**
     * @param after may be empty
     */
    Listing(Bytes prefix, Bytes after, int limit, long giveUpAt) {
      super(giveUpAt);
      this.prefix = prefix;
      this.after = after.size() == 0 ? LOWEST : after;
      this.limit = limit;
    }

    @Override
    Optional<Names> next(int node, long token) {
      Answer answer = answers.computeIfAbsent(node, n -> new Answer());
      if (answer.isEnough()) {
        return Optional.empty();
      }
      answer.token = token;
      answer.taken = 0;
      int wanted = Math.min(AT_ONCE, limit - answer.names.size());
      return Optional.of(new Names(answer.upTo, prefix, token, wanted));
    }

    /**
     * Takes a part that follows what is there; others are asked for again.
     *
     * @return whether the node is to be asked for more
     */
    boolean take(int node, Named named) {
      Answer answer = answers.get(node);
      if (answer == null || answer.token != named.token() || answer.taken != named.from()) {
        return false;
      }
      for (Bytes name : unpacked(named.names())) {
        answer.names.add(name);
        answer.upTo = name;
        answer.taken++;
      }
      answer.all |= named.end() == Named.End.ALL;
      return named.end() == Named.End.ENOUGH && !answer.isEnough();
    }

    private static List<Bytes> unpacked(Bytes packed) {
      byte[] bytes = packed.toArray();
      var names = new ArrayList<Bytes>();
      int at = 0;
      while (at < bytes.length && at + 1 + (bytes[at] & 0xFF) <= bytes.length) {
        int end = at + 1 + (bytes[at] & 0xFF);
        names.add(Bytes.of(Arrays.copyOfRange(bytes, at + 1, end)));
        at = end;
      }
      return names;
    }

    /** How many nodes have named enough. */
    int enough() {
      return (int) answers.values().stream().filter(Answer::isEnough).count();
    }

    @Override
    Optional<List<Bytes>> answer() {
      var names = new TreeSet<Bytes>();
      @Nullable Bytes upTo = null; // of those that know more, what the first one has not named yet
      for (Answer answer : answers.values()) {
        if (answer.isEnough()) {
          names.addAll(answer.names);
          if (!answer.all && (upTo == null || answer.upTo.compareTo(upTo) < 0)) {
            upTo = answer.upTo;
          }
        }
      }
      @Nullable Bytes last = upTo;
      return Optional.of(
          names.stream()
              .filter(name -> last == null || name.compareTo(last) <= 0)
              .limit(limit)
              .toList());
    }
  }
}
