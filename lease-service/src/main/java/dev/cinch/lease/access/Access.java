package dev.cinch.lease.access;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.access.Permission.Right;
import dev.cinch.lease.access.TokenFile.Token;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who may ask a lease service for what. Without a token one may take and see leases, or nothing at
 * all; tokens may do what their rights say. Thread-safe.
 */
@CheckReturnValue
public final class Access {
  /** To take and see leases, but not to revoke those of others. */
  private static final List<Permission> ANYBODY =
      List.of(new Permission(Right.ACQUIRE, ""), new Permission(Right.OBSERVE, ""));

  private static final String SCHEME = "Bearer ";
  private static final String OF = "CN=";
  private static final Logger log = LoggerFactory.getLogger(Access.class);

  private final Optional<TokenFile> file;
  private final TimeSource time;
  private final List<Permission> anonymous;

  /** By their ids, and by {@link #OF} and the names of their certificates. */
  private volatile Map<String, Token> tokens = Map.of();

  /** What the file was when it was read last. */
  private Optional<FileVersion> version = Optional.empty();

  private Access(Optional<TokenFile> file, boolean openToAll, TimeSource time) {
    this.file = file;
    this.time = time;
    anonymous = openToAll ? ANYBODY : List.of();
  }

  /** Nobody has a token: all may take and see leases, and nobody may revoke another's. */
  public static Access withoutTokens() {
    return new Access(Optional.empty(), true, SystemTime.INSTANCE);
  }

  /**
   * By the tokens of a file, which {@link #reload} reads again.
   *
   * @param openToAll whether those without a token may take and see leases
   * @param time its wall clock tells which tokens have ended
   * @throws IOException if the file can't be read, or is none of tokens
   */
  public static Access of(TokenFile file, boolean openToAll, TimeSource time) throws IOException {
    var access = new Access(Optional.of(file), openToAll, time);
    access.version = FileVersion.of(file.path());
    access.take(file.read());
    return access;
  }

  /**
   * Who has sent a request with such headers {@code Authorization}. A token that is not known or
   * has ended may do nothing, less than none: its sender is to hear of it.
   *
   * @param from see {@link Caller}
   * @param certificate the common name of the sender's certificate, which counts where there is no
   *     token; empty if it has shown none
   */
  public Caller caller(
      List<String> authorization, @Nullable Object from, Optional<String> certificate) {
    if (authorization.isEmpty()) {
      Token token = certificate.isEmpty() ? null : tokens.get(OF + certificate.get());
      return token == null
          ? new Caller("one without a token", from, anonymous)
          : caller(token, from);
    }
    String header = authorization.get(0);
    boolean one =
        authorization.size() == 1 && header.regionMatches(true, 0, SCHEME, 0, SCHEME.length());
    String text = one ? header.substring(SCHEME.length()).strip() : "";
    Optional<String> id = TokenFile.id(text);
    if (id.isEmpty()) {
      return new Caller("one whose Authorization is no token of Cinch", from, List.of());
    }
    Token token = tokens.get(id.get());
    if (token == null || !TokenFile.matches(token, text)) {
      return new Caller("one with a token that is not known here", from, List.of());
    }
    return caller(token, from);
  }

  private Caller caller(Token token, @Nullable Object from) {
    Instant now = Instant.ofEpochSecond(0, time.wallNanos());
    return token.isOver(now)
        ? new Caller(
            token.shown() + ", which ended at " + token.expires().get(), from, List.of(), true)
        : new Caller(token.shown(), from, token.permissions(), true);
  }

  /**
   * Reads the file again where it has changed, and does nothing where it has not. A file that is
   * damaged changes nothing but what the log says; without a file no token counts. May block for
   * file I/O.
   */
  public synchronized void reload() {
    if (file.isEmpty()) {
      return;
    }
    try {
      Optional<FileVersion> now = FileVersion.of(file.get().path());
      if (!now.equals(version)) {
        version = now;
        take(file.get().read());
      }
    } catch (IOException e) {
      log.warn("tokens are as they were, since {}", e.getMessage());
    }
  }

  private void take(List<Token> all) {
    tokens =
        all.stream()
            .collect(
                Collectors.toMap(
                    t -> t.certificate().isEmpty() ? t.id() : OF + t.certificate(),
                    Function.identity(),
                    (a, b) -> a));
  }
}
