package dev.cinch.lease.http;

import dev.cinch.lease.LeaseService;
import dev.cinch.lease.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Requests that one turn of an event loop brought, carried out together at its end: their witnesses
 * share a signature, and one that comes alone waits for nobody. Confined to its event loop.
 */
final class Turn {
  /**
   * One request.
   *
   * @param asked its operations
   * @param outcomes told what became of the first of them; the rest is to be asked for by a thread
   *     that may wait
   * @param failed told of what the service threw instead
   */
  record Request(
      Routes.Asked asked, Consumer<List<Outcome>> outcomes, Consumer<Throwable> failed) {}

  private final LeaseService service;
  private final Consumer<Runnable> atTheEnd;
  private List<Request> waiting = new ArrayList<>();

  /**
   * @param atTheEnd runs a task on the loop after what its present turn has brought
   */
  Turn(LeaseService service, Consumer<Runnable> atTheEnd) {
    this.service = service;
    this.atTheEnd = atTheEnd;
  }

  void add(Request request) {
    waiting.add(request);
    if (waiting.size() == 1) {
      atTheEnd.accept(this::end);
    }
  }

  private void end() {
    List<Request> requests = waiting;
    waiting = new ArrayList<>();
    List<List<Outcome>> outcomes;
    try {
      outcomes = service.carryOutNow(requests.stream().map(r -> r.asked().operations()).toList());
    } catch (RuntimeException e) {
      requests.forEach(r -> r.failed().accept(e));
      return;
    }
    for (int i = 0; i < requests.size(); i++) {
      requests.get(i).outcomes().accept(outcomes.get(i));
    }
  }
}
