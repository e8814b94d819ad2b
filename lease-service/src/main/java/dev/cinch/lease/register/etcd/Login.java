package dev.cinch.lease.register.etcd;

import com.google.errorprone.annotations.CheckReturnValue;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The token by which etcd knows a user: asked for when it is first needed, and anew once etcd does
 * not take it any more, as after some minutes. Thread-safe.
 */
@CheckReturnValue
final class Login {
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
}
