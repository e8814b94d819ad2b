package dev.cinch.lease.http;

import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.access.Caller;
import dev.cinch.lease.table.Refusals;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Serves {@code GET /v1/watch}: the connections of {@link Watchers}. Thread-safe. */
final class WatchEndpoint {
  static final String PATH = "/v1/watch";
  static final String CONTENT_TYPE = "text/event-stream";

  /** Names and prefixes of one request. */
  private static final int MOST_WANTED = 100;

  /** After what time one that is refused asks again, nanoseconds. */
  private static final long RETRY_AFTER = 1_000_000_000L;

  /** Leases that are looked for at once. */
  private static final int PAGE = 100;

  /** What one of them may leave unread, bytes, beside what is found at once. */
  private static final int UNREAD = 64 << 10;

  private static final Logger log = LoggerFactory.getLogger(WatchEndpoint.class);

  private final LeaseService service;
  private final WaitingRoom.Loop loop;
  private final Watchers watches;

  WatchEndpoint(int most, LeaseService service, WaitingRoom.Loop loop, Workers workers) {
    this.loop = loop;
    this.service = service;
    String origin = Long.toHexString(new SecureRandom().nextLong());
    watches = new Watchers(most, origin, loop, new WorkersLook(service, loop, workers));
  }

  /** What is to be told of changes. */
  Watchers listener() {
    return watches;
  }

  /** Ends all. */
  void end() {
    loop.run(watches::end);
  }

  /**
   * Answers a request for as long as its sender reads; called on the loop.
   *
   * @param gate that it came through
   * @param caller who has sent it, and what it may; asked again all the time
   * @param refused told where it is refused
   */
  void serve(
      HttpServerRequest request, Gate gate, Supplier<Caller> caller, Consumer<Answer> refused) {
    var names = new HashSet<String>();
    var prefixes = new ArrayList<String>();
    String since;
    try {
      String header = request.getHeader("Last-Event-ID"); // which browsers send by themselves
      since = parse(request.query(), names, prefixes, header == null ? "" : header);
    } catch (WireException e) {
      refused.accept(Routes.malformed(e));
      return;
    }
    Supplier<Optional<Answer>> refusals =
        () ->
            Stream.concat(names.stream(), prefixes.stream())
                .flatMap(beginning -> Routes.mayObserve(caller.get(), beginning).stream())
                .findFirst();
    Optional<Answer> refusal = refusals.get();
    if (refusal.isPresent()) {
      refused.accept(refusal.get());
      return;
    }
    Optional<LeaseRefusedException> deaf = service.deafness();
    if (deaf.isPresent()) {
      refused.accept(Answer.refusal(deaf.get()));
      return;
    }
    HttpServerResponse response = request.response();
    var out = new Out(response, gate, refused, () -> refusals.get().isEmpty());
    var watcher = new Watchers.Watcher(names, prefixes, since, out);
    out.drained = () -> loop.run(() -> watches.drained(watcher));
    response.closeHandler(closed -> loop.run(() -> watches.leave(watcher)));
    if (watches.add(watcher)) {
      gate.waits();
    } else {
      refused.accept(Answer.error(503, Answer.OVERLOADED, "too many watch, or it ends", 1_000));
    }
  }

  /** Returns the id of the last event that was had; empty if none was. */
  private static String parse(
      @Nullable String query, HashSet<String> names, List<String> prefixes, String lastId)
      throws WireException {
    int wanted = 0;
    String since = lastId;
    for (String part : query == null || query.isEmpty() ? new String[0] : query.split("&", -1)) {
      int equals = part.indexOf('=');
      String what = equals < 0 ? part : part.substring(0, equals);
      String value = Routes.decoded(part.substring(equals + 1));
      switch (what) {
        case "name" -> names.add(WireReader.name(value).value());
        case "prefix" -> prefixes.add(value);
        case "since" -> {
          since = value;
          continue;
        }
        default -> throw new WireException("unknown parameter \"" + what + "\"");
      }
      if (++wanted > MOST_WANTED) {
        throw new WireException("a watch has at most " + MOST_WANTED + " names and prefixes");
      }
    }
    if (wanted == 0) {
      prefixes.add("");
    }
    return since;
  }

  /** One who reads. */
  private static final class Out implements Watchers.Sink {
    private final HttpServerResponse response;
    private final Gate gate;
    private final Consumer<Answer> refused;
    private final BooleanSupplier permitted;
    private Runnable drained = () -> {};
    private int unread;
    private boolean full;

    Out(
        HttpServerResponse response,
        Gate gate,
        Consumer<Answer> refused,
        BooleanSupplier permitted) {
      this.response = response;
      this.gate = gate;
      this.refused = refused;
      this.permitted = permitted;
    }

    @Override
    public boolean isPermitted() {
      return permitted.getAsBoolean();
    }

    @Override
    public void refuse(String why) {
      refused.accept(Answer.refusal(Refusals.notYet(why, RETRY_AFTER)));
    }

    @Override
    public boolean isFull() {
      return full;
    }

    @Override
    public void write(String text) {
      if (response.closed() || response.ended()) {
        return;
      }
      if (!response.headWritten()) {
        response
            .setChunked(true)
            .putHeader("Content-Type", CONTENT_TYPE)
            .putHeader("Cache-Control", "no-store");
      }
      unread += text.length();
      full = full || unread > UNREAD;
      var unused = response.write(text).onComplete(done -> taken(text.length()));
    }

    private void taken(int bytes) {
      unread -= bytes;
      if (full && unread <= UNREAD / 2) {
        full = false;
        drained.run();
      }
    }

    @Override
    public void end() {
      if (response.closed() || response.ended()) {
        return;
      }
      if (full) {
        var unused = response.reset(); // one that takes nothing would not take an end either
      } else {
        gate.end(response, Buffer.buffer());
      }
    }
  }

  /** Looks by workers. */
  private record WorkersLook(LeaseService service, WaitingRoom.Loop loop, Workers workers)
      implements Watchers.Look {
    private interface Call<T> {
      T get() throws LeaseUnavailableException;
    }

    private <T> void ask(Call<T> call, Consumer<T> told, Consumer<String> failed) {
      // One of them at a time for each watcher, whose number is bounded: it is in nobody's way.
      Runnable task =
          () -> {
            try {
              T answer = call.get();
              loop.run(() -> told.accept(answer));
            } catch (LeaseUnavailableException e) {
              loop.run(() -> failed.accept(String.valueOf(e.getMessage())));
            } catch (RuntimeException e) {
              log.error("a watch could not look", e);
              loop.run(() -> failed.accept("the lease service failed; see its log"));
            }
          };
      if (!workers.submit(Workers.Lane.OTHERS, task)) {
        loop.run(() -> failed.accept("too many requests at once"));
      }
    }

    @Override
    public void page(
        String prefix,
        Optional<LeaseName> after,
        Consumer<List<LeaseInfo>> told,
        Consumer<String> failed) {
      ask(() -> service.list(prefix, after, PAGE), told, failed);
    }

    @Override
    public void show(
        List<LeaseName> names, Consumer<List<LeaseInfo>> told, Consumer<String> failed) {
      ask(
          () -> {
            var found = new ArrayList<LeaseInfo>();
            for (LeaseName name : names) {
              service.show(name).ifPresent(found::add);
            }
            return found;
          },
          told,
          failed);
    }

    @Override
    public void now(Consumer<Long> told) {
      ask(service::now, told, why -> {}); // the next sweep asks again
    }
  }
}
