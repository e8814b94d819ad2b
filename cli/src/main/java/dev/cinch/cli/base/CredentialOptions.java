package dev.cinch.cli.base;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.cinch.lease.client.Credentials;
import dev.cinch.lease.wire.PemTls;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** What a command shows to lease servers. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class CredentialOptions {
  /** Variables of the environment that stand for options. */
  public static final Map<String, String> VARIABLES =
      Map.of(
          "--token-file", "CINCH_TOKEN_FILE",
          "--ca", "CINCH_CA",
          "--tls-cert", "CINCH_TLS_CERT",
          "--tls-key", "CINCH_TLS_KEY");

  /** Larger files are none of a token; bytes. */
  private static final long MAX_BYTES = 1_000;

  @Option(
      names = "--token-file",
      paramLabel = "FILE",
      description =
          "Holds a token that the lease service knows, from cinch token add (or set"
              + " CINCH_TOKEN_FILE).")
  @Nullable Path tokenFile;

  @Option(
      names = "--ca",
      paramLabel = "FILE",
      description =
          "PEM: whose certificates lease servers at https:// have to have, in place of those that"
              + " Java trusts (or set CINCH_CA).")
  @Nullable Path ca;

  @Option(
      names = "--tls-cert",
      paramLabel = "FILE",
      description = "PEM: a certificate for lease servers that ask for one (or CINCH_TLS_CERT).")
  @Nullable Path certificate;

  @Option(
      names = "--tls-key",
      paramLabel = "FILE",
      description = "PEM: its key (or CINCH_TLS_KEY).")
  @Nullable Path key;

  /**
   * What was given.
   *
   * @throws IOException if a file can't be read, or has something else in it
   */
  public Credentials get() throws IOException {
    if ((certificate == null) != (key == null)) {
      throw new Misuse("--tls-cert and --tls-key go together");
    }
    Optional<Supplier<SSLContext>> tls = Optional.empty();
    if (ca != null || certificate != null) {
      Optional<PemTls.Own> own =
          certificate == null || key == null
              ? Optional.empty()
              : Optional.of(new PemTls.Own(certificate, key));
      tls = Optional.of(new PemTls(Optional.ofNullable(ca), own));
    }
    return new Credentials(tokenFile == null ? Optional.empty() : token(tokenFile), tls);
  }

  private static Optional<String> token(Path file) throws IOException {
    String text = Files.size(file) > MAX_BYTES ? "" : Files.readString(file, ISO_8859_1).strip();
    try {
      return new Credentials(Optional.of(text), Optional.empty()).token();
    } catch (IllegalArgumentException e) {
      throw new IOException(file + " holds no token: " + e.getMessage(), e);
    }
  }
}
