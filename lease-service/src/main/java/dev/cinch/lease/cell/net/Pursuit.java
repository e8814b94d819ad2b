package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Step;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What a caller wants of a name, through as many attempts as its patience allows. */
final class Pursuit extends Timer implements Request {
  final Bytes name;

  /** The lease to be renewed, or none. */
  final @Nullable Ballot renewed;

  final long ttl;
  final long giveUpAt;

  /** Later it is not begun: an attempt that has no time left is work for nothing. */
  final long beginBy;

  final Function<Step.Found, Optional<Bytes>> decide;
  final CompletableFuture<Outcome> result = new CompletableFuture<>();

  /** How often it was outbid. */
  int outbid;

  /** Whether it waits for its next attempt. */
  boolean resting;

  /** The last ballot for which something was proposed. */
  @Nullable Ballot proposed;

  Pursuit(
      Bytes name,
      @Nullable Ballot renewed,
      long ttl,
      long giveUpAt,
      long beginBy,
      Function<Step.Found, Optional<Bytes>> decide) {
    this.name = name;
    this.renewed = renewed;
    this.ttl = ttl;
    this.giveUpAt = giveUpAt;
    this.beginBy = beginBy;
    this.decide = decide;
  }

  @Override
  public CompletableFuture<Outcome> result() {
    return result;
  }

  @Override
  public void close() {
    result.complete(Outcome.Refused.CLOSED);
  }
}
