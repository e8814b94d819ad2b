package dev.cinch.lease.etcd;

import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.etcd.EtcdFailure.Kind;
import dev.cinch.lease.etcd.Keys.Stored;
import dev.cinch.lease.register.StateRegister.Change;
import dev.cinch.lease.rules.Refusals;
import dev.cinch.lease.table.LeaseBackend.UnansweredException;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.TxnResponse;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;

/**
 * One change of one name: reads the value, and replaces it if it is still the same; goes on with
 * what is there if it is another, and reads again if an answer is lost. What was lost can't be done
 * any more once the key was changed since, for it has the key's revision. One step after the other,
 * on whichever thread.
 */
final class EtcdChange {
  private final EtcdRegister register;
  private final EtcdCalls calls;
  private final LeaseName name;
  private final Change change;
  private final long giveUpAt;

  /** The revisions that puts without an answer were to replace. */
  private final Set<Long> unsure = new HashSet<>();

  private boolean conflicted;
  private long retry = EtcdCalls.RETRY_NANOS;

  EtcdChange(EtcdRegister register, LeaseName name, Change change, long giveUpAt) {
    this.register = register;
    this.calls = register.calls();
    this.name = name;
    this.change = change;
    this.giveUpAt = giveUpAt;
  }

  /** Does it, and tells how it ends. */
  void run(CompletableFuture<Boolean> done) {
    var unused =
        read()
            .whenComplete(
                (changed, broken) -> {
                  if (broken == null) {
                    done.complete(changed);
                  } else {
                    done.completeExceptionally(told(broken));
                  }
                });
  }

  private Throwable told(Throwable broken) {
    Throwable cause =
        broken instanceof CompletionException && broken.getCause() != null
            ? broken.getCause()
            : broken;
    if (!(cause instanceof EtcdFailure)) {
      return cause;
    }
    return unsure.isEmpty()
        ? Refusals.notYet(
            name + " can't be changed now: " + cause.getMessage(), EtcdRegister.RETRY_AFTER)
        : new UnansweredException(name + ": " + cause.getMessage());
  }

  private CompletableFuture<Boolean> read() {
    return calls
        .ask(KVGrpc.getRangeMethod(), register.keys().range(name), giveUpAt)
        .thenCompose(answer -> decide(Stored.single(answer)));
  }

  private CompletableFuture<Boolean> decide(Stored found) {
    Optional<byte[]> next;
    try {
      next = change.of(register.found(found));
    } catch (LeaseRefusedException e) {
      return leave(found, CompletableFuture.failedFuture(e));
    }
    if (next.isEmpty()) {
      return leave(found, CompletableFuture.completedFuture(false));
    }
    if (found.revision() == 0 && register.isFull()) {
      return CompletableFuture.failedFuture(
          new EtcdFailure(
              Kind.REFUSED, "etcd remembers as many names as it may, " + register.most()));
    }
    byte[] value = next.get();
    if (value.length > register.longestValue()) {
      throw new IllegalArgumentException(
          "%s: a value of %d bytes, and the longest is %d"
              .formatted(name, value.length, register.longestValue()));
    }
    return register.lease().current(giveUpAt).thenCompose(lease -> write(found, value, lease));
  }

  /** It stays as it was found, unless a lost put is done after all. */
  private CompletableFuture<Boolean> leave(Stored found, CompletableFuture<Boolean> end) {
    return unsure.contains(found.revision())
        ? CompletableFuture.failedFuture(
            new UnansweredException(name + ": etcd may still do what it has not answered"))
        : end;
  }

  private CompletableFuture<Boolean> write(Stored found, byte[] value, long lease) {
    return calls
        .post(
            KVGrpc.getTxnMethod(),
            register.keys().replace(name, found.revision(), value, lease),
            giveUpAt)
        .<Supplier<CompletableFuture<Boolean>>>handle(
            (answer, broken) ->
                broken == null
                    ? () -> answered(answer)
                    : () -> failed(found, lease, EtcdFailure.of(broken)))
        .thenCompose(Supplier::get);
  }

  private CompletableFuture<Boolean> failed(Stored found, long lease, EtcdFailure failure) {
    if (failure.kind() == Kind.UNKNOWN) {
      unsure.add(found.revision());
    }
    if (failure.kind() == Kind.NO_LEASE) {
      register.lease().gone(lease);
    }
    return failure.kind() == Kind.REFUSED
        ? CompletableFuture.failedFuture(failure)
        : again(failure);
  }

  private CompletableFuture<Boolean> answered(TxnResponse answer) {
    if (answer.getSucceeded()) {
      return CompletableFuture.completedFuture(true);
    }
    if (!conflicted) { // another server was faster; the first time it may be so by chance
      conflicted = true;
      return decide(Stored.single(answer.getResponses(0).getResponseRange()));
    }
    return again(new EtcdFailure(Kind.NOT_DONE, "other servers change it"));
  }

  private CompletableFuture<Boolean> again(EtcdFailure why) {
    long nanos = retry;
    retry = Math.min(2 * nanos, EtcdCalls.MOST_RETRY_NANOS);
    return calls.later(nanos, giveUpAt, why, this::read);
  }
}
