package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** What nodes sign of a value that they accepted, until it is enough. */
final class Gathering extends Timer implements Request {
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
