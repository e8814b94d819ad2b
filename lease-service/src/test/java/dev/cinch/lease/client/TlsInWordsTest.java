package dev.cinch.lease.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.util.List;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.Test;

/** What Java says, and what users are told. */
final class TlsInWordsTest {
  private static void told(String said, String words) {
    told(new SSLHandshakeException(said), words);
  }

  private static void told(Throwable failure, String words) {
    String told = Endpoints.reason((IOException) new ConnectException("x").initCause(failure));
    assertTrue(told.contains(words), told);
    assertTrue(told.lines().count() == 1 && !told.contains("sun."), told);
  }

  @Test
  void eachFailureNamesWhatMendsIt() {
    told(
        "PKIX path building failed: sun.security.provider.certpath.SunCertPathBuilderException",
        "with --ca FILE");
    told("Unexpected error: the trustAnchors parameter must be non-empty", "with --ca FILE");
    told("No subject alternative DNS name matching x found.", "--server NAME");
    told("No name matching x found", "--server NAME");
    told("Unsupported or unrecognized SSL message", "begin with http://");
    told("No appropriate protocol (protocol is disabled)", "TLS 1.3");
    told("no cipher suites in common", "TLS 1.3");
    alert(
        "with --tls-cert FILE and --tls-key FILE",
        "bad_certificate",
        "certificate_required",
        "certificate_unknown",
        "unknown_ca",
        "unsupported_certificate",
        "access_denied");
    alert("--tls-cert no more", "certificate_expired", "certificate_revoked");
    alert("TLS 1.3", "protocol_version", "handshake_failure", "insufficient_security");
    alert("no certificate for this name", "unrecognized_name");
    told("Received fatal alert: internal_error", "the server says internal_error");
    told(caused(new CertificateExpiredException("NotAfter")), "certificate has expired");
    told(caused(new CertificateNotYetValidException("NotBefore")), "not valid yet");
    told(caused(new CertificateException("other")), "TLS failed: PKIy");
    assertNull(TlsInWords.of(new IOException("Broken pipe")));
  }

  private static void alert(String words, String... alerts) {
    for (String alert : alerts) {
      told("Received fatal alert: " + alert, words);
    }
  }

  @Test
  void whatMayBeBehindAConnectionThatEndedIsSaid() {
    URI plain = URI.create("http://lease:8470");
    URI tls = URI.create("https://lease:8470");
    var reset = new SocketException("Connection reset");
    assertTrue(
        TlsInWords.hint(new EOFException("the end"), plain).contains("begins with https://"));
    assertTrue(TlsInWords.hint(reset, tls).contains("--tls-cert FILE"));
    assertEquals("", TlsInWords.hint(reset, plain));
    for (IOException told :
        List.of(
            new ConnectException("refused"),
            new SocketTimeoutException("silent"),
            new SSLHandshakeException("PKIX"))) {
      assertEquals("", TlsInWords.hint(told, tls), told.toString());
    }
  }

  private static Throwable caused(CertificateException why) {
    return new SSLException("PKIy path validation failed", why);
  }
}
