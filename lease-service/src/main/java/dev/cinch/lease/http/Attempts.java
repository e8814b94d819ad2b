package dev.cinch.lease.http;

import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * Acquires of those who wait: at once where the service need not wait for its store, and else by a
 * worker.
 *
 * @param loop where it is called, and tells what became of them
 */
record Attempts(LeaseService service, Workers workers, Executor loop)
    implements WaitingRoom.Carrier {
  @Override
  public void carryOut(Operation acquire, Consumer<Outcome> done, Consumer<Answer> failed) {
    List<Outcome> now;
    try {
      now = service.carryOutNow(List.of(List.of(acquire))).get(0);
    } catch (RuntimeException e) {
      failed.accept(Routes.failed("POST", "/v1/leases/acquire", e));
      return;
    }
    if (!now.isEmpty()) {
      done.accept(now.get(0));
    } else if (!workers.submit(Workers.Lane.OTHERS, () -> later(acquire, done, failed))) {
      failed.accept(Answer.error(503, Answer.OVERLOADED, "too many requests at once", 100));
    }
  }

  private void later(Operation acquire, Consumer<Outcome> done, Consumer<Answer> failed) {
    Runnable tell;
    try {
      Outcome outcome = service.carryOut(List.of(acquire)).get(0);
      tell = () -> done.accept(outcome);
    } catch (LeaseUnavailableException e) {
      tell = () -> failed.accept(Routes.unavailable(e));
    } catch (RuntimeException e) {
      Answer answer = Routes.failed("POST", "/v1/leases/acquire", e);
      tell = () -> failed.accept(answer);
    }
    loop.execute(tell);
  }
}
