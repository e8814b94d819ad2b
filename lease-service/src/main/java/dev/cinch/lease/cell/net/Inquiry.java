package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Memory;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A question to all acceptors, of which a majority's answers are enough. */
final class Inquiry extends Timer implements Request {
  final Bytes name;
  final long giveUpAt;
  final CompletableFuture<Optional<Memory>> result = new CompletableFuture<>();
  private final Set<Integer> answered = new HashSet<>();
  private @Nullable Memory best;

  Inquiry(Bytes name, long giveUpAt) {
    this.name = name;
    this.giveUpAt = giveUpAt;
  }

  /** Takes an answer; returns how many nodes have given one. */
  int add(int node, Memory memory) {
    if (answered.add(node) && (best == null || isBetter(memory, best))) {
      best = memory;
    }
    return answered.size();
  }

  boolean hasAnswered(int node) {
    return answered.contains(node);
  }

  /** The last lease that is known says the most; of nothing, what is said of the least time. */
  private static boolean isBetter(Memory one, Memory other) {
    return one.known() || other.known()
        ? other.ballot().below(one.ballot())
        : one.nanos() < other.nanos();
  }

  /**
   * Ends it.
   *
   * @param enough whether a majority has answered: what fewer know is not what the cell knows
   */
  void complete(boolean enough) {
    result.complete(enough ? Optional.ofNullable(best) : Optional.empty());
  }

  @Override
  public CompletableFuture<Optional<Memory>> result() {
    return result;
  }

  @Override
  public void close() {
    complete(false);
  }
}
