package dev.cinch.lease.etcd;

import com.google.errorprone.annotations.CheckReturnValue;
import io.grpc.CallCredentials;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The token by which etcd knows a user: asked for when it is first needed, and anew once etcd does
 * not take it any more, as after some minutes. Thread-safe.
 */
@CheckReturnValue
final class Login {
  private static final Metadata.Key<String> TOKEN =
      Metadata.Key.of("token", Metadata.ASCII_STRING_MARSHALLER);

  private final Supplier<CompletableFuture<String>> authenticate;
  private @Nullable CompletableFuture<String> token; // guarded by this

  /**
   * @param authenticate asks etcd for a token
   */
  Login(Supplier<CompletableFuture<String>> authenticate) {
    this.authenticate = authenticate;
  }

  /** The token, or why there is none. */
  synchronized CompletableFuture<String> token() {
    CompletableFuture<String> now = token;
    if (now == null || now.isCompletedExceptionally()) {
      now = authenticate.get();
      token = now;
    }
    return now;
  }

  /** Etcd does not take this one; the next request asks for another. */
  synchronized void refused(CompletableFuture<String> old) {
    if (token == old) {
      token = null;
    }
  }

  /** Has a call wait for a token, and go with it. */
  static final class Credentials extends CallCredentials {
    private final CompletableFuture<String> token;

    Credentials(CompletableFuture<String> token) {
      this.token = token;
    }

    @Override
    public void applyRequestMetadata(RequestInfo call, Executor executor, MetadataApplier applier) {
      var unused =
          token.whenComplete(
              (given, broken) -> {
                if (broken == null) {
                  var headers = new Metadata();
                  headers.put(TOKEN, given);
                  applier.apply(headers);
                } else {
                  applier.fail(Status.UNAVAILABLE.withCause(EtcdFailure.of(broken)));
                }
              });
    }
  }
}
