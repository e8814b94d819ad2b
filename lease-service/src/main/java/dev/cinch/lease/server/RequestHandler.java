package dev.cinch.lease.server;

import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.access.Access;
import dev.cinch.lease.access.Caller;
import dev.cinch.lease.server.Connections.Place;
import dev.cinch.lease.server.Exchange.Written;
import dev.cinch.lease.wire.Answer;
import dev.cinch.lease.wire.WireException;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.net.ssl.SSLPeerUnverifiedException;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.handler.ErrorHandler;
import org.eclipse.jetty.util.Callback;
import org.jspecify.annotations.Nullable;

/**
 * Carries out requests and answers them: in Jetty's own thread what waits for nothing, by {@link
 * Workers} all else. Thread-safe.
 *
 * <p>Operations that one turn of the selector brought are carried out together at its end: their
 * witnesses share a signature, and one that comes alone waits for nobody.
 */
final class RequestHandler extends Handler.Abstract.NonBlocking {
  /** More witnesses than that a worker writes. */
  private static final int WRITTEN_AT_ONCE = 64;

  private final Routes routes;
  private final LeaseHost service;
  private final ServerMetrics metrics;
  private final Callers callers;
  private final Access access;
  private final Workers workers;
  private final JettyServer jetty;
  private final WaitingRoom waiting;
  private final Revision revision;

  /** Null if it serves no store. */
  private final @Nullable StoreStatus store;

  /** Whether the service tells what requests would wait for. */
  private final boolean waits;

  /** What the present turn has brought; under its own lock. */
  private final List<InTurn> turn = new ArrayList<>();

  /** Whose text is made where it is wanted. */
  private record From(@Nullable SocketAddress address) {
    @Override
    public String toString() {
      return String.valueOf(address).replaceFirst("^/", "");
    }
  }

  private record InTurn(Routes.Asked asked, Exchange exchange) {}

  /**
   * @param store how that is; null without one
   * @param loop of those who wait for leases
   * @param connections that there may be; half of them may wait
   */
  RequestHandler(
      Routes routes,
      ServerMetrics metrics,
      Callers callers,
      Access access,
      @Nullable StoreStatus store,
      Workers workers,
      JettyServer jetty,
      WaitingRoom.Loop loop,
      int connections) {
    this.routes = routes;
    this.service = routes.service();
    this.metrics = metrics;
    this.callers = callers;
    this.access = access;
    this.store = store;
    this.workers = workers;
    this.jetty = jetty;
    waiting = new WaitingRoom(Math.max(1, connections / 2), loop, this::attempt);
    revision = routes.revision();
    waits = service.listen(waiting);
    boolean heard = service.listen(revision);
    assert heard == waits;
  }

  /** Answers those who wait for leases; called by any thread. */
  void end() {
    waiting.run(waiting::end);
  }

  /** How many requests wait for leases that others have; called by any thread. */
  int waiting() {
    return waiting.size();
  }

  /** What Jetty takes for no request, or could not carry out. */
  boolean failed(Request request, Response response, Callback callback) {
    int status = request.getAttribute(ErrorHandler.ERROR_STATUS) instanceof Integer i ? i : 500;
    String message = String.valueOf(request.getAttribute(ErrorHandler.ERROR_MESSAGE));
    Answer answer =
        switch (status) {
          case 413 -> Answer.error(status, Answer.TOO_LARGE, message);
          case 414 -> Answer.error(status, Answer.URI_TOO_LONG, message);
          case 431 -> Answer.error(status, Answer.HEADERS_TOO_LARGE, message);
          case 426, 505 -> Answer.error(505, Answer.VERSION, "HTTP/1.1 is spoken here");
          default ->
              status < 500
                  ? Answer.error(400, Answer.MALFORMED, "not a request of HTTP/1.1: " + message)
                  : Answer.error(500, Answer.INTERNAL, "the lease service failed; see its log");
        };
    Place place = jetty.place(request);
    if (place == null) {
      callback.failed(new IllegalStateException("closed"));
    } else {
      new Exchange(request, response, callback, place, (exchange, body) -> {}).refuse(answer);
    }
    return true;
  }

  /** A head has come. */
  @Override
  public boolean handle(Request request, Response response, Callback callback) {
    Place place = jetty.place(request);
    if (place == null) {
      callback.failed(new IllegalStateException("closed"));
      return true;
    }
    var exchange = new Exchange(request, response, callback, place, this::dispatch);
    Answer refusal = callers.refusal(request);
    if (refusal == null) {
      exchange.read();
    } else {
      exchange.refuse(refusal);
    }
    return true;
  }

  private void dispatch(Exchange exchange, byte[] body) {
    guarded(exchange, () -> route(exchange, body));
  }

  /** Has a failure answered. */
  private static void guarded(Exchange exchange, Runnable task) {
    try {
      task.run();
    } catch (RuntimeException e) {
      exchange.answer(Written.of(failed(exchange, e)));
    } catch (Error e) {
      uncaught(e);
      throw e;
    }
  }

  /**
   * Jetty would go on after an error of Java's own, which is to end its thread as it ends others.
   */
  private static void uncaught(Error e) {
    Thread thread = Thread.currentThread();
    thread.getUncaughtExceptionHandler().uncaughtException(thread, e);
  }

  private void route(Exchange exchange, byte[] body) {
    Request request = exchange.request;
    // Jetty leaves the body out of an answer to HEAD.
    String method = request.getMethod().equals("HEAD") ? "GET" : request.getMethod();
    String path = exchange.path();
    @Nullable String query = request.getHttpURI().getQuery();
    List<String> tokens = request.getHeaders().getValuesList(HttpHeader.AUTHORIZATION);
    Optional<String> certificate = tokens.isEmpty() ? certified(request) : Optional.empty();
    var from = new From(request.getConnectionMetaData().getRemoteSocketAddress());
    Caller caller = access.caller(tokens, from, certificate);
    if (Routes.isHealth(path)) {
      exchange.answer(Written.of(routes.answer(method, path, query, body, caller)));
    } else if (method.equals("GET") && path.equals(Routes.METRICS)) {
      Optional<Answer> refusal = Routes.mayObserve(caller, "");
      if (refusal.isPresent()) {
        exchange.answer(Written.of(refusal.get()));
      } else {
        submit(
            Workers.Lane.OTHERS,
            exchange,
            () -> Written.metrics(routes.metrics(waiting(), waiting.names())));
      }
    } else if (Routes.isLarge(body.length)
        || !isOperation(exchange, method, path, query, body, caller)) {
      Dashboard.File file = Dashboard.file(path);
      if (file != null) {
        show(exchange, method, path, file);
      } else if (store != null && path.equals(StoreStatus.PATH)) {
        tellStore(store, exchange, method, path, caller);
      } else if (LeaseQueries.isDetailed(query) && !caller.permissions().isEmpty()) {
        waiting.run(() -> look(waiting.byName(), exchange, method, query, body, caller));
      } else {
        look(Map.of(), exchange, method, query, body, caller);
      }
    }
  }

  private void look(
      Map<LeaseName, List<WaitingRoom.Request>> waits,
      Exchange exchange,
      String method,
      @Nullable String query,
      byte[] body,
      Caller caller) {
    String path = exchange.path();
    var view =
        new LeaseQueries.View(
            waits,
            waiting.size(),
            revision.now(),
            exchange.request.getHeaders().get(HttpHeader.IF_NONE_MATCH));
    submit(
        Routes.lane(path, body.length),
        exchange,
        () -> Written.of(routes.answer(method, path, query, body, caller, view)));
  }

  private static void show(Exchange exchange, String method, String path, Dashboard.File file) {
    if (!method.equals("GET")) {
      exchange.answer(Written.of(Answer.otherMethod(path, method, Routes.GET)));
      return;
    }
    int status =
        file.isKnown(exchange.request.getHeaders().get(HttpHeader.IF_NONE_MATCH)) ? 304 : 200;
    exchange.answer(new Written(status, file.body(), file.contentType(), file.headers()));
  }

  private void tellStore(
      StoreStatus store, Exchange exchange, String method, String path, Caller caller) {
    Optional<Answer> refusal =
        method.equals("GET")
            ? Routes.mayObserve(caller, "")
            : Optional.of(Answer.otherMethod(path, method, Routes.GET));
    if (refusal.isPresent()) {
      exchange.answer(Written.of(refusal.get()));
      return;
    }
    var unused =
        store
            .ask()
            .thenAccept(answer -> submit(Workers.Lane.LARGE, exchange, () -> Written.of(answer)));
  }

  /** Whom the sender's certificate names; empty where it has shown none. */
  private static Optional<String> certified(Request request) {
    EndPoint.SslSessionData tls =
        request.getConnectionMetaData().getConnection().getEndPoint().getSslSessionData();
    if (tls == null) {
      return Optional.empty();
    }
    try {
      var subject = new LdapName(tls.sslSession().getPeerPrincipal().getName());
      return subject.getRdns().stream()
          .filter(part -> part.getType().equalsIgnoreCase("CN"))
          .map(part -> part.getValue().toString())
          .findFirst();
    } catch (SSLPeerUnverifiedException | InvalidNameException e) {
      return Optional.empty();
    }
  }

  /** Whether it is one, which then is carried out, or waits, or was refused. */
  private boolean isOperation(
      Exchange exchange,
      String method,
      String path,
      @Nullable String query,
      byte[] body,
      Caller caller) {
    Optional<Routes.Asked> asked;
    try {
      asked = routes.asked(method, path, query, body, caller);
    } catch (WireException e) {
      exchange.answer(Written.of(Routes.malformed(e)));
      return true;
    }
    if (asked.isPresent() && asked.get().waits() && waits) {
      await(asked.get(), exchange);
    } else if (asked.isPresent()) {
      boolean first;
      synchronized (turn) {
        first = turn.isEmpty();
        turn.add(new InTurn(asked.get(), exchange));
      }
      if (first) {
        jetty.atTurnsEnd(this::endTurn);
      }
    }
    return asked.isPresent();
  }

  /** Begins what the turn has brought, or some of it: no more than others have time for. */
  private void endTurn() {
    List<InTurn> brought;
    synchronized (turn) {
      brought = List.copyOf(turn);
      turn.clear();
    }
    try {
      if (service.waits()) {
        brought.forEach(
            r ->
                submit(
                    r.asked().lane(), r.exchange(), () -> Written.of(routes.carryOut(r.asked()))));
        return;
      }
      List<CompletableFuture<List<Outcome>>> begun =
          service.begin(brought.stream().map(r -> r.asked().operations()).toList());
      again(brought.subList(begun.size(), brought.size()));
      for (int i = 0; i < begun.size(); i++) {
        InTurn r = brought.get(i);
        var unused =
            begun
                .get(i)
                .whenComplete(
                    (outcomes, e) ->
                        guarded(
                            r.exchange(), () -> carriedOut(r.exchange(), r.asked(), outcomes, e)));
      }
    } catch (RuntimeException e) {
      brought.forEach(r -> r.exchange().answer(Written.of(failed(r.exchange(), e))));
    } catch (Error e) {
      uncaught(e);
      throw e;
    }
  }

  /** What was not begun comes first in the next turn. */
  private void again(List<InTurn> left) {
    if (!left.isEmpty()) {
      synchronized (turn) {
        turn.addAll(0, left);
      }
      jetty.atTurnsEnd(this::endTurn);
    }
  }

  /** Answers it, or has a worker do so where that takes long; called by any thread. */
  private void carriedOut(
      Exchange exchange,
      Routes.Asked asked,
      @Nullable List<Outcome> outcomes,
      @Nullable Throwable unknown) {
    if (outcomes == null) {
      exchange.answer(Written.of(routes.unanswered(asked, Objects.requireNonNull(unknown))));
      return;
    }
    int witnesses = 0;
    for (Outcome outcome : outcomes) {
      witnesses += outcome instanceof Outcome.Granted g ? g.grant().witnesses().size() : 0;
    }
    if (witnesses > WRITTEN_AT_ONCE) {
      submit(asked.lane(), exchange, () -> Written.of(routes.answer(asked, outcomes)));
    } else {
      exchange.answer(Written.of(routes.answer(asked, outcomes)));
    }
  }

  /** Has an acquire wait where others have the leases, until its sender goes away. */
  private void await(Routes.Asked asked, Exchange from) {
    var acquire = (Operation.Acquire) asked.operations().get(0);
    var sender = new Sender(asked, from);
    var waiter = new WaitingRoom.Request(acquire, asked.since(), sender);
    sender.gone = () -> waiting.cancel(waiter);
    waiting.run(() -> waiting.ask(waiter));
  }

  /** Whoever has sent an acquire that may wait. */
  private final class Sender implements WaitingRoom.Sender {
    private final Routes.Asked asked;
    private final Exchange from;
    private Runnable gone = () -> {};
    private boolean waits;

    Sender(Routes.Asked asked, Exchange from) {
      this.asked = asked;
      this.from = from;
    }

    @Override
    public void waits() {
      revision.lost(); // those who wait are a part of what is listed
      if (!waits) {
        waits = true;
        from.watch(
            () ->
                waiting.run(
                    () -> {
                      gone.run();
                      revision.lost();
                    }));
      }
    }

    @Override
    public void outcome(Outcome outcome) {
      failed(routes.answer(asked, List.of(outcome)));
    }

    @Override
    public void failed(Answer answer) {
      if (waits) {
        metrics.waited(asked);
        revision.lost();
      }
      from.answer(Written.of(answer));
    }
  }

  /** An acquire of one who waits: at once where the service need not wait for others. */
  private void attempt(Operation acquire, Consumer<Outcome> done, Consumer<Answer> failed) {
    if (service.waits()) {
      if (!workers.submit(Workers.Lane.OTHERS, () -> attemptLater(acquire, done, failed))) {
        failed.accept(overloaded());
      }
      return;
    }
    CompletableFuture<List<Outcome>> begun = service.begin(List.of(List.of(acquire))).get(0);
    boolean now = begun.isDone();
    var unused =
        begun.whenComplete(
            (outcomes, e) -> {
              Runnable tell = () -> tell(outcomes, e, done, failed);
              if (now) {
                tell.run();
              } else {
                waiting.run(tell);
              }
            });
  }

  /** A failure is told, too: else nobody would ever answer. */
  private static void tell(
      @Nullable List<Outcome> outcomes,
      @Nullable Throwable unknown,
      Consumer<Outcome> done,
      Consumer<Answer> failed) {
    try {
      if (outcomes == null) {
        failed.accept(Routes.unanswered(Objects.requireNonNull(unknown)));
      } else {
        done.accept(outcomes.get(0));
      }
    } catch (RuntimeException e) {
      failed.accept(Routes.unanswered(e));
    } catch (Error e) {
      uncaught(e);
      throw e;
    }
  }

  private void attemptLater(Operation acquire, Consumer<Outcome> done, Consumer<Answer> failed) {
    Runnable tell;
    try {
      Outcome outcome = service.carryOut(List.of(acquire)).get(0);
      tell = () -> done.accept(outcome);
    } catch (LeaseUnavailableException | RuntimeException e) {
      Answer answer = Routes.unanswered(e);
      tell = () -> failed.accept(answer);
    }
    waiting.run(tell);
  }

  private static Answer failed(Exchange exchange, RuntimeException e) {
    return Routes.failed(exchange.request.getMethod(), exchange.path(), e);
  }

  private static Answer overloaded() {
    return Answer.error(503, Answer.OVERLOADED, "too many requests at once", 100);
  }

  /** Has a worker answer. */
  private void submit(Workers.Lane lane, Exchange exchange, Supplier<Written> answer) {
    Runnable task =
        () -> {
          Written written;
          try {
            written = answer.get();
          } catch (RuntimeException e) {
            written = Written.of(failed(exchange, e));
          }
          exchange.answer(written);
        };
    if (!workers.submit(lane, task)) {
      metrics.turnedAway();
      exchange.answer(Written.of(overloaded()));
    }
  }
}
