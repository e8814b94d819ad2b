package dev.cinch.lease.register.etcd;

import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.register.StateRegister.Change;
import dev.cinch.lease.register.etcd.EtcdFailure.Kind;
import dev.cinch.lease.table.Refusals;
import dev.cinch.lease.table.UnansweredException;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One change of one name: reads the value, and replaces it if it is still the same; goes on with
 * what is there if it is another, and reads again if an answer is lost. What was lost can't be done
 * any more once the key was changed since, for it has the key's revision. One step after the other,
 * on whichever thread.
 */
final class EtcdChange {
  private static final long RETRY_AFTER = 200_000_000L;

  private final EtcdRegister register;
  private final Gateway gateway;
  private final LeaseName name;
  private final Change change;
  private final long giveUpAt;
  private final CompletableFuture<Boolean> done;

  /** The revisions that puts without an answer were to replace. */
  private final Set<Long> unsure = new HashSet<>();

  private boolean conflicted;
  private long retry = Gateway.RETRY_NANOS;

  EtcdChange(
      EtcdRegister register,
      LeaseName name,
      Change change,
      long giveUpAt,
      CompletableFuture<Boolean> done) {
    this.register = register;
    this.gateway = register.gateway();
    this.name = name;
    this.change = change;
    this.giveUpAt = giveUpAt;
    this.done = done;
  }

  void read() {
    then(
        gateway.ask("/v3/kv/range", register.keys().range(name), true, giveUpAt),
        answer -> decide(Stored.single(answer)),
        this::giveUp);
  }

  private void decide(Stored found) {
    Optional<byte[]> next;
    try {
      next = change.of(register.found(found));
    } catch (LeaseRefusedException e) {
      leave(found, e);
      return;
    }
    if (next.isEmpty()) {
      leave(found, null);
      return;
    }
    if (found.revision() == 0 && register.isFull()) {
      giveUp("etcd remembers as many names as it may, " + register.most());
      return;
    }
    byte[] value = next.get();
    if (value.length > register.longestValue()) {
      throw new IllegalArgumentException(
          "%s: a value of %d bytes, and the longest is %d"
              .formatted(name, value.length, register.longestValue()));
    }
    then(register.lease().current(giveUpAt), lease -> write(found, value, lease), this::giveUp);
  }

  /** It stays as it was found, unless a lost put is done after all. */
  private void leave(Stored found, @Nullable LeaseRefusedException why) {
    if (unsure.contains(found.revision())) {
      done.completeExceptionally(
          new UnansweredException(name + ": etcd may still do what it has not answered"));
    } else if (why == null) {
      done.complete(false);
    } else {
      done.completeExceptionally(why);
    }
  }

  private void write(Stored found, byte[] value, String lease) {
    then(
        gateway.post(
            "/v3/kv/txn",
            register.keys().replace(name, found.revision(), value, lease),
            true,
            giveUpAt),
        answer -> {
          if (answer.path("succeeded").asBoolean()) {
            done.complete(true);
          } else {
            Stored now = Stored.single(answer.path("responses").path(0).path("response_range"));
            conflicted(now);
          }
        },
        failure -> {
          if (failure.kind() == Kind.UNKNOWN) {
            unsure.add(found.revision());
          }
          if (failure.kind() == Kind.NO_LEASE) {
            register.lease().gone(lease);
          }
          if (failure.kind() == Kind.REFUSED) {
            giveUp(failure);
          } else {
            again(String.valueOf(failure.getMessage()), this::read);
          }
        });
  }

  /** Another server was faster. The first time it may be so by chance. */
  private void conflicted(Stored now) {
    if (!conflicted) {
      conflicted = true;
      decide(now);
    } else {
      again("other servers change it", this::read);
    }
  }

  private void again(String why, Runnable step) {
    if (giveUpAt - gateway.now() <= retry) {
      giveUp(why);
      return;
    }
    long nanos = retry;
    retry = Math.min(2 * retry, Gateway.MOST_RETRY_NANOS);
    gateway.later(
        nanos,
        () -> {
          if (gateway.now() < giveUpAt) {
            guarded(step);
          } else { // this process stood still meanwhile
            giveUp(why);
          }
        });
  }

  private void giveUp(EtcdFailure failure) {
    giveUp(String.valueOf(failure.getMessage()));
  }

  private void giveUp(String why) {
    done.completeExceptionally(
        unsure.isEmpty()
            ? Refusals.notYet(name + " can't be changed now: " + why, RETRY_AFTER)
            : new UnansweredException(name + ": " + why));
  }

  /** Goes on with an answer, and ends with what goes wrong with that. */
  private <T> void then(
      CompletableFuture<T> asked, Consumer<T> answered, Consumer<EtcdFailure> failed) {
    var unused =
        asked.whenComplete(
            (answer, broken) ->
                guarded(
                    () -> {
                      if (broken == null) {
                        answered.accept(answer);
                      } else {
                        failed.accept(Gateway.failure(broken));
                      }
                    }));
  }

  private void guarded(Runnable step) {
    try {
      step.run();
    } catch (RuntimeException | Error e) {
      done.completeExceptionally(e);
    }
  }
}
