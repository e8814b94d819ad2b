package dev.cinch.lease.register.etcd;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.google.errorprone.annotations.CheckReturnValue;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

/** Certificates and a private key as PEM files have them, for TLS. */
@CheckReturnValue
public final class PemFiles {
  private static final Pattern KEY =
      Pattern.compile("-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END PRIVATE KEY-----");
  private static final List<String> ALGORITHMS = List.of("EC", "RSA", "EdDSA");
  private static final char[] NO_PASSWORD = {};

  private PemFiles() {}

  /**
   * What a client of TLS needs.
   *
   * @param ca certificates that servers' have to be signed by; empty for those that Java trusts
   * @param own this client's certificate, with those above it; empty to show none
   * @throws IOException one line that names the file, and says what is wrong with it
   */
  public static SSLContext client(Optional<Path> ca, Optional<Own> own) throws IOException {
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(
          own.isPresent() ? keys(own.get()) : null, ca.isPresent() ? trust(ca.get()) : null, null);
      return context;
    } catch (GeneralSecurityException e) {
      throw new IOException("no TLS with these certificates: " + e.getMessage(), e);
    }
  }

  /** A certificate, and the file with the key that it is for. */
  public record Own(Path certificate, Path key) {}

  private static TrustManager[] trust(Path file) throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, NO_PASSWORD);
    int count = 0;
    for (Certificate each : certificates(file)) {
      store.setCertificateEntry("ca" + count++, each);
    }
    TrustManagerFactory factory =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(store);
    return factory.getTrustManagers();
  }

  private static KeyManager[] keys(Own own) throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, NO_PASSWORD);
    Certificate[] chain = certificates(own.certificate()).toArray(Certificate[]::new);
    PrivateKey key = key(own.key());
    if (!key.getAlgorithm().equals(chain[0].getPublicKey().getAlgorithm())) {
      throw new IOException(own.key() + ": not the key of " + own.certificate());
    }
    store.setKeyEntry("own", key, NO_PASSWORD, chain);
    KeyManagerFactory factory =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    factory.init(store, NO_PASSWORD);
    return factory.getKeyManagers();
  }

  private static List<Certificate> certificates(Path file) throws IOException {
    try (InputStream in = Files.newInputStream(file)) {
      List<Certificate> all =
          List.copyOf(CertificateFactory.getInstance("X.509").generateCertificates(in));
      if (all.isEmpty()) {
        throw new IOException(file + ": has no certificate; a PEM file is wanted");
      }
      return all;
    } catch (GeneralSecurityException e) {
      throw new IOException(file + ": no certificates: " + e.getMessage(), e);
    }
  }

  private static PrivateKey key(Path file) throws IOException {
    Matcher pem = KEY.matcher(Files.readString(file, US_ASCII));
    if (!pem.find()) {
      throw new IOException(
          file
              + ": no unencrypted key of PKCS#8 (\"BEGIN PRIVATE KEY\");"
              + " openssl pkcs8 -topk8 -nodes makes one of others");
    }
    byte[] bytes;
    try {
      bytes = Base64.getMimeDecoder().decode(pem.group(1));
    } catch (IllegalArgumentException e) {
      throw new IOException(file + ": damaged: " + e.getMessage(), e);
    }
    for (String algorithm : ALGORITHMS) {
      try {
        return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(bytes));
      } catch (GeneralSecurityException e) {
        // Of another algorithm.
      }
    }
    throw new IOException(file + ": a key of none of " + ALGORITHMS);
  }
}
