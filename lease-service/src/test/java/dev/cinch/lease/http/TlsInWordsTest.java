package dev.cinch.lease.http;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ConnectException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
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
    for (String alert : new String[] {"bad_certificate", "certificate_required", "unknown_ca"}) {
      told("Received fatal alert: " + alert, "with --tls-cert FILE and --tls-key FILE");
    }
    told("Received fatal alert: certificate_expired", "--tls-cert no more");
    told("Received fatal alert: protocol_version", "TLS 1.3");
    told("Received fatal alert: internal_error", "the server says internal_error");
    told(caused(new CertificateExpiredException("NotAfter")), "certificate has expired");
    told(caused(new CertificateNotYetValidException("NotBefore")), "not valid yet");
    told(caused(new CertificateException("other")), "TLS failed: PKIy");
    assertNull(TlsInWords.of(new IOException("Broken pipe")));
  }

  private static Throwable caused(CertificateException why) {
    return new SSLException("PKIy path validation failed", why);
  }
}
