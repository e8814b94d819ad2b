package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message.Named;
import dev.cinch.lease.cell.Message.Names;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A question to all acceptors which names they know. What a majority has accepted, one of any
 * majority names: so the names of a majority are all.
 */
final class Listing extends Timer implements Request {
  /** Below all names, and in place of one. */
  static final Bytes LOWEST = Bytes.of(new byte[1]);

  /** What an acceptor names at once. */
  static final int AT_ONCE = 1_000;

  private final Bytes prefix;
  private final Bytes after;
  private final int limit;
  final long giveUpAt;
  final CompletableFuture<Optional<List<Bytes>>> result = new CompletableFuture<>();
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
    this.prefix = prefix;
    this.after = after.size() == 0 ? LOWEST : after;
    this.limit = limit;
    this.giveUpAt = giveUpAt;
  }

  /**
   * What to ask a node for, unless it has named enough.
   *
   * @param token that no question had before
   */
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

  /**
   * Ends it.
   *
   * @param enough whether a majority has named enough
   */
  void complete(boolean enough) {
    if (!enough) {
      result.complete(Optional.empty());
      return;
    }
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
    result.complete(
        Optional.of(
            names.stream()
                .filter(name -> last == null || name.compareTo(last) <= 0)
                .limit(limit)
                .toList()));
  }

  @Override
  public CompletableFuture<Optional<List<Bytes>>> result() {
    return result;
  }

  @Override
  public void close() {
    complete(false);
  }
}
