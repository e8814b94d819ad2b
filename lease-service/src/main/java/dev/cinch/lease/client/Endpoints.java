package dev.cinch.lease.client;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.client.Endpoints.Transport.Answered;
import dev.cinch.lease.http.HttpConnections.Patience;
import dev.cinch.lease.wire.Answer;
import dev.cinch.lease.wire.Fields;
import dev.cinch.lease.wire.JsonFields;
import dev.cinch.lease.wire.LeaseDocuments;
import dev.cinch.lease.wire.WireException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The equal servers of one service. All requests go to the one that worked last. One that does not
 * answer, or turns a request away, is left: this request and later ones go to the next.
 * Thread-safe.
 *
 * <p>A server alone is asked twice. Of several each is asked once, all within twice the time that
 * one answer may take, or within a part of the lease; whoever asks again begins with the next one.
 */
@CheckReturnValue
final class Endpoints {
  private static final int ATTEMPTS = 2;
  private static final Duration LEAST_WAIT = Duration.ofMillis(1);

  private final List<Endpoint> all;
  private final Patience patience;
  private final LongSupplier clock;

  /** Which one is asked first. */
  private final AtomicInteger preferred = new AtomicInteger();

  /**
   * One of them.
   *
   * @param transport whose connections lead there
   */
  record Endpoint(URI base, Transport transport) {}

  /**
   * What is asked.
   *
   * @param within in what time all servers are to be asked, or one twice
   * @param queued how much longer each answer may take, since the request waits in a queue
   */
  @SuppressWarnings("ArrayRecordComponent") // made and sent once
  record Request(
      String method, String path, byte @Nullable [] body, Duration within, Duration queued) {
    /** For what takes the time that it takes. */
    static final Duration UNHURRIED = Duration.ofMillis(Long.MAX_VALUE);

    Request(String method, String path, byte @Nullable [] body, Duration within) {
      this(method, path, body, within, Duration.ZERO);
    }
  }

  /**
   * What was answered.
   *
   * @param again whether the same request may have been carried out before
   * @param by whose answer it is, and to what
   */
  record Sent(Answered answer, boolean again, URI by) {
    /** Turns an answer's fields into a value. */
    interface Reader<T> {
      T read(JsonFields fields) throws WireException;
    }

    /** The value that it says. */
    <T> T value(Reader<T> reader) throws LeaseUnavailableException {
      if (answer.status() != 200) {
        LeaseDocuments.Failure failure = error();
        throw new LeaseUnavailableException(
            inWords(failure.message()), failure.refusal().orElse(null));
      }
      try {
        return reader.read(JsonFields.parseAnswer(answer.body()));
      } catch (WireException e) {
        throw another(String.valueOf(e.getMessage()));
      }
    }

    LeaseDocuments.Failure error() throws LeaseUnavailableException {
      try {
        return Fields.read(LeaseDocuments::failure, JsonFields.parse(answer.body()));
      } catch (WireException e) {
        throw another("status " + answer.status() + " without an error of the API");
      }
    }

    /** The refusal that an error stands for; throws if it stands for none. */
    LeaseRefusedException refusal() throws LeaseUnavailableException {
      LeaseDocuments.Failure failure = error();
      Optional<LeaseRefusedException> refusal = failure.refusal();
      if (refusal.isPresent()) {
        return refusal.get();
      }
      if (failure.error().equals(Answer.MALFORMED) || failure.error().equals(Answer.TOO_LARGE)) {
        return new LeaseRefusedException(Reason.INVALID, failure.message(), failure.retryAfterMs());
      }
      throw bad(failure.message());
    }

    /** An answer that no lease service gives. */
    private LeaseUnavailableException another(String why) {
      return new LeaseUnavailableException("another service answers at " + by + ": " + why, null);
    }

    LeaseUnavailableException bad(String message) {
      return new LeaseUnavailableException(inWords(message), null);
    }

    private String inWords(String message) {
      return "the lease service at " + by + " answered: " + message;
    }
  }

  /**
   * @param clock monotonic, nanoseconds
   */
  Endpoints(List<Endpoint> all, Patience patience, LongSupplier clock) {
    this.all = List.copyOf(all);
    this.patience = patience;
    this.clock = clock;
  }

  boolean areSeveral() {
    return all.size() > 1;
  }

  /** The addresses, the one that is asked first at the beginning. */
  List<URI> inTurn() {
    int first = preferred.get();
    return IntStream.range(0, all.size())
        .mapToObj(i -> all.get((first + i) % all.size()).base())
        .toList();
  }

  /** From now on the next one is asked first, unless it is so already. */
  void leave(URI base) {
    for (int i = 0; i < all.size(); i++) {
      if (all.get(i).base().equals(base)) {
        leave(i);
      }
    }
  }

  private void leave(int index) {
    boolean unused = preferred.compareAndSet(index, (index + 1) % all.size());
  }

  /** Turns an answer into a value. */
  interface Reading<T> {
    /**
     * @throws LeaseUnavailableException if it says that the service failed, or is none of the API
     */
    T read(Sent sent) throws LeaseUnavailableException;
  }

  /**
   * Asks servers until one does not turn the request away. Where all do, the first one's answer
   * counts, since the others only stand in for it.
   *
   * @throws LeaseUnavailableException if none answers; any may have carried it out
   */
  <T> T ask(Request request, Reading<T> reading, Predicate<T> isTurnedAway)
      throws LeaseUnavailableException {
    int first = preferred.get();
    long from = areSeveral() ? clock.getAsLong() : 0;
    T refused = null;
    String silent = "";
    boolean again = false; // whether one that did not answer may have carried it out
    for (int asked = 1; ; asked++) {
      int index = (first + asked - 1) % all.size();
      Endpoint to = all.get(index);
      URI uri = URI.create(to.base() + request.path());
      LeaseUnavailableException failure = null;
      try {
        Duration more = share(request.within()).minus(patience.answer()).plus(request.queued());
        Answered answer = to.transport().exchange(request.method(), uri, request.body(), more);
        T told = reading.read(new Sent(answer, again, uri));
        if (!areSeveral() || !isTurnedAway.test(told)) {
          return told;
        }
        refused = refused == null || again ? told : refused;
      } catch (IOException e) {
        again |= !(e instanceof ConnectException);
        failure = noAnswer(silent, uri, e);
        silent += areSeveral() ? " at " + uri + ": " + reason(e) + ", and" : "";
      } catch (LeaseUnavailableException e) {
        if (!areSeveral()) {
          throw e;
        }
        again = true;
        failure = e;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new LeaseUnavailableException(
            "interrupted while asking the lease service at " + uri, e);
      }
      leave(index);
      if (isOver(request, asked, from)) {
        if (refused != null && (failure == null || !again)) {
          return refused;
        }
        throw Objects.requireNonNull(failure);
      }
    }
  }

  private static LeaseUnavailableException noAnswer(String silent, URI uri, IOException e) {
    return new LeaseUnavailableException(
        "no answer from the lease service"
            + silent
            + " at "
            + uri
            + ": "
            + reason(e)
            + TlsInWords.hint(e, uri),
        e);
  }

  private boolean isOver(Request request, int asked, long from) {
    if (!areSeveral()) {
      return asked == ATTEMPTS;
    }
    Duration most =
        share(request.within())
            .multipliedBy(all.size())
            .plus(request.queued().multipliedBy(ATTEMPTS));
    return asked == all.size() || clock.getAsLong() - from >= most.toNanos();
  }

  /**
   * How long one server is waited for. Each attempt gets the same part of the time, and of twice
   * the time that one answer may take, so that the last one is made in time, too.
   *
   * @param within in what time all attempts are to be made
   */
  Duration share(Duration within) {
    int attempts = areSeveral() ? all.size() : ATTEMPTS;
    Duration together = min(within, patience.answer().multipliedBy(ATTEMPTS));
    Duration each = min(together.dividedBy(attempts), patience.answer());
    return each.compareTo(LEAST_WAIT) < 0 ? LEAST_WAIT : each;
  }

  private static Duration min(Duration a, Duration b) {
    return a.compareTo(b) < 0 ? a : b;
  }

  static String reason(IOException e) {
    boolean unsent = e instanceof ConnectException;
    Throwable why = unsent && e.getCause() != null ? e.getCause() : e;
    if (why instanceof SocketTimeoutException) {
      return "timed out";
    }
    String tls = TlsInWords.of(why);
    if (tls != null) {
      return tls;
    }
    if (unsent) {
      return "can't connect";
    }
    return why.getMessage() == null ? why.getClass().getSimpleName() : why.getMessage();
  }

  /** How requests of a {@link HttpLeaseClient} travel. Thread-safe. */
  interface Transport {
    /**
     * What came back, whole.
     *
     * @param status of HTTP
     */
    @SuppressWarnings("ArrayRecordComponent") // read once by who asked
    record Answered(int status, byte[] body) {}

    /**
     * Sends one request and waits for its whole answer, of at most {@link
     * HttpLeaseClient#MAX_ANSWER_BYTES}.
     *
     * @param body none for a request without one
     * @param more how much longer the answer may take than others; negative: how much less
     * @throws java.net.ConnectException if the request was not sent, since nobody was reached in
     *     time
     * @throws java.net.SocketTimeoutException if there is no whole answer in time
     * @throws IOException if the answer is none of HTTP, too long, or broke off
     */
    Answered exchange(String method, URI uri, byte @Nullable [] body, Duration more)
        throws IOException, InterruptedException;
  }
}
