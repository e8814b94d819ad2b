package dev.cinch.lease.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Lines of an answer that goes on: no more of it is taken than is read. One thread reads, and any
 * may close.
 */
final class EventBody implements BodySubscriber<EventBody>, AutoCloseable {
  /** Of one line, bytes: a lease with the most logs has less. */
  private static final int MOST = 1 << 20;

  private static final List<ByteBuffer> END = List.of();

  private final BlockingQueue<List<ByteBuffer>> parts = new LinkedBlockingQueue<>();
  private volatile Flow.@Nullable Subscription subscription;
  private volatile boolean closed;

  /** Guarded by the reader. */
  private List<ByteBuffer> part = List.of(ByteBuffer.allocate(0));

  @Override
  public CompletionStage<EventBody> getBody() {
    return CompletableFuture.completedFuture(this);
  }

  @Override
  public void onSubscribe(Flow.Subscription given) {
    subscription = given;
    if (closed) {
      given.cancel();
    } else {
      given.request(1);
    }
  }

  @Override
  public void onNext(List<ByteBuffer> next) {
    parts.add(next);
  }

  @Override
  public void onError(Throwable broken) {
    parts.add(END);
  }

  @Override
  public void onComplete() {
    parts.add(END);
  }

  /**
   * The next line, without its end.
   *
   * @param patience how long to wait for its next byte
   * @throws EOFException at the end
   */
  String line(Duration patience) throws IOException, InterruptedException {
    var line = new ByteArrayOutputStream();
    while (true) {
      for (ByteBuffer buffer : part) {
        while (buffer.hasRemaining()) {
          byte b = buffer.get();
          if (b == '\n') {
            return line.toString(UTF_8);
          }
          if (line.size() >= MOST) {
            throw new IOException("a line has more than " + MOST + " bytes");
          }
          line.write(b);
        }
      }
      part = next(patience);
    }
  }

  private List<ByteBuffer> next(Duration patience) throws IOException, InterruptedException {
    List<ByteBuffer> next = parts.poll(patience.toNanos(), TimeUnit.NANOSECONDS);
    if (next == null) {
      throw new HttpTimeoutException("nothing came for " + patience.toSeconds() + " s");
    }
    if (next.isEmpty() || closed) {
      parts.add(END); // whoever reads on meets it too
      throw new EOFException("the stream ended");
    }
    Flow.Subscription from = subscription;
    if (from != null) {
      from.request(1);
    }
    return next;
  }

  @Override
  public void close() {
    closed = true;
    Flow.Subscription from = subscription;
    if (from != null) {
      from.cancel();
    }
    parts.add(END);
  }
}
