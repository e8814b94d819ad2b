package dev.cinch.lease.http;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * An answer's body in memory, up to a limit: whoever answers may go on for ever. Copies what comes,
 * since pieces of single bytes would take some sixty each if they were kept. Calls of a subscriber
 * come one after the other.
 */
public final class BoundedBody implements BodySubscriber<byte[]> {
  private final int most;
  private final ByteArrayOutputStream all = new ByteArrayOutputStream();
  private final CompletableFuture<byte[]> done = new CompletableFuture<>();
  private Flow.@Nullable Subscription subscription;

  /**
   * @param most bytes, at most
   */
  public BoundedBody(int most) {
    this.most = most;
  }

  @Override
  public CompletionStage<byte[]> getBody() {
    return done;
  }

  @Override
  public void onSubscribe(Flow.Subscription given) {
    subscription = given;
    given.request(Long.MAX_VALUE);
  }

  @Override
  public void onNext(List<ByteBuffer> parts) {
    for (ByteBuffer part : parts) {
      if (done.isDone()) {
        return;
      }
      if (part.remaining() > most - all.size()) {
        done.completeExceptionally(new IOException("the answer has more than " + most + " bytes"));
        if (subscription != null) {
          subscription.cancel();
        }
        all.reset();
        return;
      }
      var bytes = new byte[part.remaining()];
      part.get(bytes);
      all.writeBytes(bytes);
    }
  }

  @Override
  public void onError(Throwable broken) {
    done.completeExceptionally(broken);
  }

  @Override
  public void onComplete() {
    done.complete(all.toByteArray());
  }
}
