package dev.cinch.lease.client;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.wire.PemTls;
import java.util.Optional;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;

/**
 * What a client shows to lease servers, and asks of them. Its text has no secret. Immutable and
 * thread-safe.
 *
 * @param token sent with every request, to each server that the service names; of visible ASCII
 * @param tls for servers at https, asked at each connection: {@link PemTls}, say; what Java trusts
 *     if it is empty
 */
@CheckReturnValue
public record Credentials(Optional<String> token, Optional<Supplier<SSLContext>> tls) {
  /** No token, and what Java trusts. */
  public static final Credentials NONE = new Credentials(Optional.empty(), Optional.empty());

  /**
   * @throws IllegalArgumentException if the token has other characters than visible ones of ASCII
   */
  public Credentials {
    if (token.isPresent() && !token.get().matches("[!-~]+")) {
      throw new IllegalArgumentException("a token is one word of visible ASCII");
    }
  }

  @Override
  public String toString() {
    return "Credentials[" + (token.isPresent() ? "a token" : "no token") + "]";
  }
}
