package dev.cinch.lease.server;

import dev.cinch.lease.server.Connections.Place;
import dev.cinch.lease.server.Connections.Rank;
import dev.cinch.lease.wire.Answer;
import dev.cinch.lease.wire.JsonFields;
import dev.cinch.lease.wire.LeaseDocuments;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.AbstractEndPoint;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.Invocable;
import org.jspecify.annotations.Nullable;

/** One request, from its head to the end of its answer. Any thread may answer it, once. */
final class Exchange implements Invocable.Task {
  /** A piece of a body; parts may be single bytes, and one array that grows would be copied. */
  private static final int PIECE = 8 << 10;

  /** What still comes of a refused request is dropped, up to here. */
  private static final int MAX_DROPPED_BYTES = 16 << 20;

  private static final IOException NO_MORE = new IOException("answered");

  final Request request;
  private final Response response;
  private final Callback callback;
  private final Place place;
  private final BiConsumer<Exchange, byte[]> whole;
  private final List<byte[]> pieces = new ArrayList<>();
  private final AtomicBoolean answered = new AtomicBoolean();
  private int length;
  private int dropped;
  private volatile boolean late;
  private volatile @Nullable AbstractEndPoint watched;

  /**
   * @param place of its connection
   * @param whole what takes the body
   */
  Exchange(
      Request request,
      Response response,
      Callback callback,
      Place place,
      BiConsumer<Exchange, byte[]> whole) {
    this.request = request;
    this.response = response;
    this.callback = callback;
    this.place = place;
    this.whole = whole;
  }

  /** Everything is done by the thread that reads. */
  @Override
  public InvocationType getInvocationType() {
    return InvocationType.NON_BLOCKING;
  }

  /** A part of the body may have come. */
  @Override
  public void run() {
    while (true) {
      Content.Chunk part = request.read();
      if (late) {
        refuse(Answer.error(408, Answer.TIMEOUT, "a request took too long to arrive"));
      } else if (part == null) {
        request.demand(this);
        return;
      } else if (Content.Chunk.isFailure(part)) {
        if (answered.compareAndSet(false, true)) {
          callback.failed(part.getFailure());
        }
      } else if (length + part.remaining() > LeaseServer.MAX_BODY_BYTES) {
        refuse(tooLarge());
      } else {
        take(part);
        if (!part.isLast()) {
          continue;
        }
        place.hold(0); // from here on it is bounded by what may wait for a worker
        place.works();
        whole.accept(this, body());
        return;
      }
      if (part != null) {
        part.release();
      }
      return;
    }
  }

  /** As sent, still encoded. */
  String path() {
    String path = request.getHttpURI().getPath();
    return path == null ? "" : path;
  }

  /** Begins to read the body. */
  void read() {
    place.arrives(() -> late = true);
    if (request.getLength() > LeaseServer.MAX_BODY_BYTES) {
      refuse(tooLarge());
    } else {
      run();
    }
  }

  private static Answer tooLarge() {
    return Answer.error(
        413, Answer.TOO_LARGE, "a body has at most " + LeaseServer.MAX_BODY_BYTES + " bytes");
  }

  private void take(Content.Chunk chunk) {
    ByteBuffer part = chunk.getByteBuffer();
    while (part.hasRemaining()) {
      int at = length % PIECE;
      if (at == 0) {
        pieces.add(new byte[PIECE]);
      }
      int count = Math.min(part.remaining(), PIECE - at);
      part.get(pieces.get(pieces.size() - 1), at, count);
      length += count;
    }
    chunk.release();
    place.hold(length);
  }

  private byte[] body() {
    if (pieces.size() == 1) {
      return Arrays.copyOf(pieces.get(0), length);
    }
    ByteBuffer all = ByteBuffer.allocate(length);
    for (byte[] piece : pieces) {
      all.put(piece, 0, Math.min(PIECE, all.remaining()));
    }
    pieces.clear();
    return all.array();
  }

  /** Answers what is wrong, and ends the connection. */
  void refuse(Answer answer) {
    place.endsWithIt();
    if (answered.compareAndSet(false, true)) {
      write(Written.of(answer), this::drop);
    }
  }

  /**
   * Drops what still comes of a refused request, for {@link Connections#LINGER_MS} at most: closing
   * with unread bytes resets the connection, and takes the answer back.
   */
  private void drop() {
    Content.Chunk part = request.read();
    while (part != null) {
      dropped += part.remaining();
      part.release();
      if (part.isLast() || Content.Chunk.isFailure(part) || dropped > MAX_DROPPED_BYTES) {
        callback.succeeded();
        return;
      }
      part = request.read();
    }
    request.demand(Invocable.from(InvocationType.NON_BLOCKING, this::drop));
  }

  /** An answer in bytes. */
  record Written(int status, byte[] body, String contentType, Map<String, String> headers) {
    static Written metrics(byte[] text) {
      return new Written(200, text, ServerMetrics.CONTENT_TYPE, Map.of());
    }

    static Written of(Answer answer) {
      return new Written(
          answer.status(),
          answer.status() == 304 ? new byte[0] : LeaseDocuments.bytes(answer.body()),
          JsonFields.CONTENT_TYPE,
          answer.headers());
    }

    /** Puts what stands before the body. */
    void head(Response response, boolean last) {
      response.setStatus(status);
      response.getHeaders().put(HttpHeader.CONTENT_TYPE, contentType);
      if (status != 304) { // which has no body, and may say the length of none but that of a 200
        response.getHeaders().put(HttpHeader.CONTENT_LENGTH, body.length); // to HEAD as well
      }
      if (status == 503) {
        response.getHeaders().put(HttpHeader.RETRY_AFTER, "1");
      }
      if (last) {
        response.getHeaders().put(HttpHeader.CONNECTION, "close");
      }
      headers.forEach(response.getHeaders()::put);
    }
  }

  /** Answers it, unless that was done. */
  void answer(Written answer) {
    if (answered.compareAndSet(false, true)) {
      unwatch();
      write(answer, callback::succeeded);
    }
  }

  private void write(Written answer, Runnable sent) {
    Rank shown =
        answer.status != 200
            ? Rank.NEW
            : request.getMethod().equals("POST") ? Rank.HOLDER : Rank.SERVED;
    answer.head(response, place.answers(shown, answer.body.length));
    response.write(
        true,
        ByteBuffer.wrap(answer.body),
        Callback.from(
            InvocationType.NON_BLOCKING,
            () -> {
              place.answered();
              sent.run();
            },
            failure -> {
              place.answered();
              callback.failed(failure);
            }));
  }

  /**
   * Has it noticed when the sender goes away before it is answered. Jetty reads no further
   * meanwhile, and has no way to put back what was read: so whoever sends something else has gone.
   */
  void watch(Runnable gone) {
    if (!(request.getConnectionMetaData().getConnection().getEndPoint()
        instanceof AbstractEndPoint end)) {
      return;
    }
    watched = end;
    boolean unused =
        end.tryFillInterested(
            Callback.from(
                InvocationType.NON_BLOCKING,
                () -> lookAgain(end, gone),
                failure -> {
                  if (!answered.get()) {
                    gone.run();
                  }
                }));
  }

  private void lookAgain(AbstractEndPoint end, Runnable gone) {
    try {
      if (!answered.get() && end.fill(ByteBuffer.allocate(1).limit(0)) == 0) {
        watch(gone);
        return;
      }
    } catch (IOException e) {
      // It has gone.
    }
    if (!answered.get()) {
      end.close();
      gone.run();
    }
  }

  private void unwatch() {
    AbstractEndPoint end = watched;
    if (end != null) {
      boolean unused = end.getFillInterest().onFail(NO_MORE);
    }
  }
}
