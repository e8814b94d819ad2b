package dev.cinch.lease.http;

import dev.cinch.lease.LeaseService;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
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
   * @param outcomes told what became of each; empty for those that are to be asked for by a thread
   *     that may wait
   * @param failed told of what the service threw instead
   */
  record Request(
      Routes.Asked asked, Consumer<List<Optional<Outcome>>> outcomes, Consumer<Throwable> failed) {}

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
    var operations = new ArrayList<Operation>();
    requests.forEach(r -> operations.addAll(r.asked().operations()));
    List<Optional<Outcome>> outcomes;
    try {
      outcomes = service.carryOutNow(operations);
    } catch (RuntimeException | VirtualMachineError e) {
      requests.forEach(r -> r.failed().accept(e));
      return;
    }
    int from = 0;
    for (Request request : requests) {
      int to = from + request.asked().operations().size();
      request.outcomes().accept(outcomes.subList(from, to));
      from = to;
    }
  }
}
