package dev.cinch.lease.http;

import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.access.Access;
import dev.cinch.lease.access.Caller;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.net.ssl.SSLPeerUnverifiedException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries out requests and answers them: on the event loop what waits for nothing, by {@link
 * Workers} all else. Confined to the loop, but for what says that any thread may call it.
 *
 * <p>Operations that one turn of the loop brought are carried out together at its end: their
 * witnesses share a signature, and one that comes alone waits for nobody.
 */
final class RequestHandler {
  /** More witnesses than that a worker writes. */
  private static final int WRITTEN_AT_ONCE = 64;

  /** So many requests are begun at once, and share a signature; the next ones after others. */
  private static final int BEGUN_AT_ONCE = 16;

  private static final Logger log = LoggerFactory.getLogger(RequestHandler.class);

  private final Routes routes;
  private final LeaseService service;
  private final ServerMetrics metrics;
  private final Callers callers;
  private final Access access;
  private final Workers workers;
  private final WaitingRoom.Loop loop;
  private final WaitingRoom waiting;
  private final Revision revision;

  /** Null if it serves no store. */
  private final @Nullable StoreStatus store;

  /** Whether the service tells what requests would wait for. */
  private final boolean waits;

  /** What the present turn of the loop has brought. */
  private List<InTurn> turn = new ArrayList<>();

  private record InTurn(Routes.Asked asked, HttpServerRequest request) {}

  /**
   * @param store how that is; null without one
   * @param timers of those who wait for leases
   * @param connections that there may be; half of them may wait
   */
  RequestHandler(
      Routes routes,
      ServerMetrics metrics,
      Callers callers,
      Access access,
      @Nullable StoreStatus store,
      Workers workers,
      WaitingRoom.Loop loop,
      WaitingRoom.Loop timers,
      int connections) {
    this.routes = routes;
    this.service = routes.service();
    this.metrics = metrics;
    this.callers = callers;
    this.access = access;
    this.store = store;
    this.workers = workers;
    this.loop = loop;
    waiting = new WaitingRoom(Math.max(1, connections / 2), timers, this::attempt);
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

  /** What the decoder could not read, though the gate let it through. */
  void undecoded(HttpServerRequest request) {
    refuse(request, Answer.error(400, Answer.MALFORMED, "not a request of HTTP/1.1"));
  }

  private static void refuse(HttpServerRequest request, Answer answer) {
    Gate gate = Gate.of(request);
    if (gate != null) {
      gate.refuse(answer, true);
    }
  }

  /** A head has come. The gate lets no more follow it than a body may have. */
  void read(HttpServerRequest request) {
    Answer refusal = callers.refusal(request);
    if (refusal != null) {
      refuse(request, refusal);
      return;
    }
    if ("100-continue".equalsIgnoreCase(request.getHeader("Expect"))) {
      request.response().writeContinue();
    }
    var body = new Body();
    request.exceptionHandler(e -> log.debug("a request broke off: {}", e.toString()));
    request.handler(body::add);
    request.endHandler(end -> dispatch(request, body.bytes()));
  }

  /**
   * A body while it arrives, in pieces of some kilobytes: one array that grows would take several
   * times what is in it, and with G1 twice that again.
   */
  private static final class Body {
    /** A piece is full from here on; parts may be single bytes, each with an object of its own. */
    private static final int PIECE = 8 << 10;

    private final List<Buffer> full = new ArrayList<>();
    private Buffer last = Buffer.buffer();
    private int length;

    void add(Buffer part) {
      last.appendBuffer(part);
      length += part.length();
      if (last.length() >= PIECE) {
        full.add(last);
        last = Buffer.buffer();
      }
    }

    byte[] bytes() {
      var all = new byte[length];
      int at = 0;
      full.add(last);
      for (Buffer piece : full) {
        piece.getBytes(all, at);
        at += piece.length();
      }
      full.clear();
      return all;
    }
  }

  private void dispatch(HttpServerRequest request, byte[] body) {
    boolean head = request.method().equals(HttpMethod.HEAD);
    // Vert.x leaves the body out of an answer to HEAD.
    String method = head ? "GET" : request.method().name();
    String path = request.path() == null ? "" : request.path();
    @Nullable String query = request.query();
    List<String> tokens = request.headers().getAll(HttpHeaders.AUTHORIZATION);
    Optional<String> certificate = tokens.isEmpty() ? certified(request) : Optional.empty();
    Caller caller = access.caller(tokens, request.remoteAddress(), certificate);
    if (Routes.isHealth(path)) {
      write(request, Written.of(routes.answer(method, path, query, body, caller)));
    } else if (method.equals("GET") && path.equals(Routes.METRICS)) {
      Optional<Answer> refusal = Routes.mayObserve(caller, "");
      if (refusal.isPresent()) {
        write(request, Written.of(refusal.get()));
      } else {
        submit(
            Workers.Lane.OTHERS,
            request,
            () -> Written.metrics(routes.metrics(waiting(), waiting.names())));
      }
    } else if (Routes.isLarge(body.length)
        || !isOperation(request, method, path, query, body, caller)) {
      Dashboard.File file = Dashboard.file(path);
      if (file != null) {
        show(request, method, path, file);
      } else if (store != null && path.equals(StoreStatus.PATH)) {
        tellStore(store, request, method, path, caller);
      } else {
        var view =
            new LeaseQueries.View(
                LeaseQueries.isDetailed(query) && !caller.permissions().isEmpty()
                    ? waiting.byName()
                    : Map.of(),
                waiting.size(),
                revision.now(),
                request.getHeader(HttpHeaders.IF_NONE_MATCH));
        submit(
            Routes.lane(path, body.length),
            request,
            () -> Written.of(routes.answer(method, path, query, body, caller, view)));
      }
    }
  }

  private static void show(
      HttpServerRequest request, String method, String path, Dashboard.File file) {
    if (!method.equals("GET")) {
      write(request, Written.of(Answer.otherMethod(path, method, Routes.GET)));
      return;
    }
    int status = file.isKnown(request.getHeader(HttpHeaders.IF_NONE_MATCH)) ? 304 : 200;
    write(request, new Written(status, file.body(), file.contentType(), file.headers()));
  }

  private void tellStore(
      StoreStatus store, HttpServerRequest request, String method, String path, Caller caller) {
    Optional<Answer> refusal =
        method.equals("GET")
            ? Routes.mayObserve(caller, "")
            : Optional.of(Answer.otherMethod(path, method, Routes.GET));
    if (refusal.isPresent()) {
      write(request, Written.of(refusal.get()));
      return;
    }
    Consumer<Answer> told = answer -> submit(Workers.Lane.LARGE, request, () -> Written.of(answer));
    var unused = store.ask().thenAccept(answer -> loop.run(() -> told.accept(answer)));
  }

  /** Whom the sender's certificate names; empty where it has shown none. */
  private static Optional<String> certified(HttpServerRequest request) {
    if (!request.isSSL()) {
      return Optional.empty();
    }
    try {
      var subject = new LdapName(request.sslSession().getPeerPrincipal().getName());
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
      HttpServerRequest request,
      String method,
      String path,
      @Nullable String query,
      byte[] body,
      Caller caller) {
    Optional<Routes.Asked> asked;
    try {
      asked = routes.asked(method, path, query, body, caller);
    } catch (WireException e) {
      write(request, Written.of(Routes.malformed(e)));
      return true;
    }
    if (asked.isPresent() && asked.get().waits() && waits) {
      await(asked.get(), request);
    } else if (asked.isPresent()) {
      turn.add(new InTurn(asked.get(), request));
      if (turn.size() == 1) {
        loop.run(this::endTurn);
      }
    }
    return asked.isPresent();
  }

  /** Begins what the turn has brought, or some of it: no more than the loop has time for. */
  private void endTurn() {
    List<InTurn> brought = turn.subList(0, Math.min(turn.size(), BEGUN_AT_ONCE));
    turn = new ArrayList<>(turn.subList(brought.size(), turn.size()));
    if (!turn.isEmpty()) {
      loop.run(this::endTurn);
    }
    if (service.waits()) {
      brought.forEach(
          r -> submit(r.asked().lane(), r.request(), () -> Written.of(routes.carryOut(r.asked()))));
      return;
    }
    List<CompletableFuture<List<Outcome>>> begun =
        service.begin(brought.stream().map(r -> r.asked().operations()).toList());
    for (int i = 0; i < begun.size(); i++) {
      InTurn r = brought.get(i);
      onLoop(begun.get(i), (outcomes, e) -> carriedOut(r.request(), r.asked(), outcomes, e));
    }
  }

  /** Has it told on the loop what became of something: now, if that is known. */
  private <T> void onLoop(
      CompletableFuture<T> begun, BiConsumer<@Nullable T, @Nullable Throwable> told) {
    if (!begun.isDone()) {
      var unused = begun.whenComplete((known, e) -> loop.run(() -> told.accept(known, e)));
      return;
    }
    T known = null;
    Throwable failure = null;
    try {
      known = begun.join();
    } catch (CompletionException e) {
      failure = e.getCause();
    }
    told.accept(known, failure);
  }

  /** Answers it, or has a worker do so where that takes long. */
  private void carriedOut(
      HttpServerRequest request,
      Routes.Asked asked,
      @Nullable List<Outcome> outcomes,
      @Nullable Throwable unknown) {
    if (outcomes == null) {
      write(request, Written.of(routes.unanswered(asked, Objects.requireNonNull(unknown))));
      return;
    }
    int witnesses = 0;
    for (Outcome outcome : outcomes) {
      witnesses += outcome instanceof Outcome.Granted g ? g.grant().witnesses().size() : 0;
    }
    if (witnesses > WRITTEN_AT_ONCE) {
      submit(asked.lane(), request, () -> Written.of(routes.answer(asked, outcomes)));
    } else {
      write(request, Written.of(routes.answer(asked, outcomes)));
    }
  }

  /** Has an acquire wait where others have the leases, until its sender goes away. */
  private void await(Routes.Asked asked, HttpServerRequest from) {
    var sender =
        new WaitingRoom.Sender() {
          private boolean waits;

          @Override
          public void waits() {
            waits = true;
            revision.lost(); // those who wait are a part of what is listed
            Gate gate = Gate.of(from);
            if (gate != null) {
              gate.waits();
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
            write(from, Written.of(answer));
          }
        };
    var acquire = (Operation.Acquire) asked.operations().get(0);
    var waiter = new WaitingRoom.Request(acquire, asked.since(), sender);
    from.response()
        .closeHandler(
            closed ->
                waiting.run(
                    () -> {
                      waiting.cancel(waiter);
                      revision.lost();
                    }));
    waiting.run(() -> waiting.ask(waiter));
  }

  /** An acquire of one who waits: at once where the service need not wait for others. */
  private void attempt(Operation acquire, Consumer<Outcome> done, Consumer<Answer> failed) {
    if (service.waits()) {
      if (!workers.submit(Workers.Lane.OTHERS, () -> attemptLater(acquire, done, failed))) {
        failed.accept(overloaded());
      }
      return;
    }
    onLoop(
        service.begin(List.of(List.of(acquire))).get(0),
        (outcomes, e) -> {
          if (outcomes == null) {
            failed.accept(Routes.unanswered(Objects.requireNonNull(e)));
          } else {
            done.accept(outcomes.get(0));
          }
        });
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
    loop.run(tell);
  }

  private static Answer failed(HttpServerRequest request, Throwable e) {
    return Routes.failed(request.method().name(), String.valueOf(request.path()), e);
  }

  private static Answer overloaded() {
    return Answer.error(503, Answer.OVERLOADED, "too many requests at once", 100);
  }

  /** Has a worker make an answer, which the event loop then writes. */
  private void submit(Workers.Lane lane, HttpServerRequest request, Supplier<Written> answer) {
    Runnable task =
        () -> {
          Written written;
          try {
            written = answer.get();
          } catch (RuntimeException e) {
            written = Written.of(failed(request, e));
          }
          Written made = written;
          loop.run(() -> write(request, made));
        };
    if (!workers.submit(lane, task)) {
      metrics.turnedAway();
      write(request, Written.of(overloaded()));
    }
  }

  /**
   * An answer in bytes. A worker makes long ones: they take a while, and where that fails the
   * sender still has to hear of it.
   */
  private record Written(int status, Buffer body, String contentType, Map<String, String> headers) {
    static Written metrics(byte[] text) {
      return new Written(200, Buffer.buffer(text), ServerMetrics.CONTENT_TYPE, Map.of());
    }

    static Written of(Answer answer) {
      return new Written(
          answer.status(),
          answer.status() == 304
              ? Buffer.buffer()
              : Buffer.buffer(LeaseDocuments.bytes(answer.body())),
          JsonFields.CONTENT_TYPE,
          answer.headers());
    }
  }

  private static void write(HttpServerRequest request, Written answer) {
    HttpServerResponse response = request.response();
    Gate gate = Gate.of(request);
    if (gate == null || response.closed() || response.ended()) {
      return;
    }
    response
        .setStatusCode(answer.status())
        .putHeader("Content-Type", answer.contentType())
        .putHeader("Content-Length", Integer.toString(answer.body().length())); // to HEAD as well
    if (answer.status() == 503) {
      response.putHeader("Retry-After", "1");
    }
    if (!answer.headers().isEmpty()) {
      answer.headers().forEach(response::putHeader);
    }
    gate.end(response, answer.body());
  }
}
