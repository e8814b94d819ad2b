package dev.cinch.lease.cell;

import java.util.Arrays;
import java.util.List;

/**
 * The acceptors of a cell, of which each attempt needs a majority, and the learners, which are told
 * of leases. The same for all nodes, always. Immutable.
 */
public final class Cell {
  /** The answers to an attempt are kept as bits of an int. */
  private static final int MOST = 31;

  private final int[] acceptors;
  private final int[] learners;

  /**
   * @param acceptors ids of nodes, all different, 1 to 31
   * @param learners ids of nodes, may be empty
   * @throws IllegalArgumentException if there are none or too many acceptors, or one twice
   */
  public Cell(List<Integer> acceptors, List<Integer> learners) {
    if (acceptors.isEmpty() || acceptors.size() > MOST) {
      throw new IllegalArgumentException(
          "a cell has 1 to " + MOST + " acceptors, not " + acceptors.size());
    }
    if (acceptors.stream().distinct().count() != acceptors.size()) {
      throw new IllegalArgumentException("an acceptor stands twice in " + acceptors);
    }
    this.acceptors = acceptors.stream().mapToInt(Integer::intValue).toArray();
    this.learners = learners.stream().mapToInt(Integer::intValue).toArray();
  }

  public int size() {
    return acceptors.length;
  }

  public int majority() {
    return acceptors.length / 2 + 1;
  }

  /** The node of an acceptor by its place, from 0 to below {@link #size}. */
  public int acceptor(int index) {
    return acceptors[index];
  }

  /** The place of a node among the acceptors, or -1. */
  int indexOf(int node) {
    for (int i = 0; i < acceptors.length; i++) {
      if (acceptors[i] == node) {
        return i;
      }
    }
    return -1;
  }

  void tell(Message message, Message.Outbox out) {
    for (int learner : learners) {
      out.send(learner, message);
    }
  }

  @Override
  public String toString() {
    return "acceptors " + Arrays.toString(acceptors) + ", learners " + Arrays.toString(learners);
  }
}
