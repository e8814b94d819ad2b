package dev.cinch.lease.client;

import com.google.errorprone.annotations.CheckReturnValue;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** Why client and server do not come to terms by TLS, and which option mends it. */
@CheckReturnValue
final class TlsInWords {
  private static final String ALERT = "Received fatal alert: ";

  private TlsInWords() {}

  /** One line; null if a failure is none of TLS. */
  static @Nullable String of(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof SSLException e) {
        return of(e);
      }
    }
    return null;
  }

  /**
   * What may be behind a connection that ended: a server of TLS hangs up on plain text, and the
   * alert of one that misses a certificate is lost where the end is noticed first.
   */
  static String hint(IOException e, URI uri) {
    if (e instanceof ConnectException || e instanceof SocketTimeoutException || of(e) != null) {
      return "";
    }
    if ("https".equalsIgnoreCase(uri.getScheme())) {
      return "; if it takes clients with a certificate alone, name yours with --tls-cert FILE and"
          + " --tls-key FILE";
    }
    return e instanceof EOFException
        ? "; if TLS is spoken there, the address begins with https://"
        : "";
  }

  private static String of(SSLException e) {
    String said = String.valueOf(e.getMessage());
    if (said.startsWith(ALERT)) {
      return alert(said.substring(ALERT.length()));
    }
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof CertificateExpiredException) {
        return "the server's certificate has expired; make it a new one, as cinch tls init does";
      }
      if (cause instanceof CertificateNotYetValidException) {
        return "the server's certificate is not valid yet; set the clock of this machine, or of the"
            + " one that made it";
      }
    }
    if (said.contains("PKIX") || said.contains("trustAnchors")) {
      return "the server's certificate is signed by nobody who is trusted here; name the"
          + " certificate of its authority with --ca FILE, or CINCH_CA";
    }
    if (said.contains("subject alternative") || said.contains("No name matching")) {
      return "the server's certificate is for another name or address than this one; use one that"
          + " it has, or make it a new one with cinch tls init --server NAME";
    }
    if (said.contains("SSL message")) {
      return "no TLS is spoken there; the address may begin with http://, and not https://";
    }
    if (said.contains("protocol") || said.contains("cipher")) {
      return "the server does not speak TLS 1.3";
    }
    return "TLS failed: " + said;
  }

  /** What a server says that ends the connection. */
  private static String alert(String what) {
    return switch (what) {
      case "bad_certificate",
          "certificate_required",
          "certificate_unknown",
          "unknown_ca",
          "unsupported_certificate",
          "access_denied" ->
          "the server takes clients alone that show a certificate of its --client-ca; name yours"
              + " with --tls-cert FILE and --tls-key FILE";
      case "certificate_expired", "certificate_revoked" ->
          "the server takes the certificate of --tls-cert no more, which has expired; make a new"
              + " one, as cinch tls init --client does";
      case "protocol_version", "handshake_failure", "insufficient_security" ->
          "the server does not speak TLS 1.3";
      case "unrecognized_name" -> "the server has no certificate for this name";
      default -> "TLS failed: the server says " + what;
    };
  }
}
