package dev.cinch.lease.wire;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.access.FileVersion;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.Date;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedKeyManager;
import javax.net.ssl.X509ExtendedTrustManager;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a client or a server needs for TLS, from files of PEM, which are read again when they
 * change. Files that have become unreadable or wrong leave it as it was, and the log says so.
 * Connections that are being made see one or the other. Thread-safe.
 */
@CheckReturnValue
public final class PemTls implements Supplier<SSLContext> {
  private static final Pattern KEY =
      Pattern.compile("-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END PRIVATE KEY-----");
  private static final Pattern CERTIFICATE =
      Pattern.compile("-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\\s]+-----END CERTIFICATE-----");
  private static final char[] NO_PASSWORD = {};
  private static final Logger log = LoggerFactory.getLogger(PemTls.class);

  private final Optional<Path> ca;
  private final Optional<Own> own;
  private final SSLContext context;
  private final KeyManager keys = new Keys();
  private final TrustManager trusted = new Trusted();
  private List<Optional<FileVersion>> versions;
  private volatile Managers now;

  /** What the files hold. */
  private record Managers(X509ExtendedKeyManager keys, X509ExtendedTrustManager trusted) {}

  /** A chain of certificates, its owner's first, and the key of that. */
  public record Own(Path certificate, Path key) {}

  /**
   * @param ca by whom certificates of others have to be signed; those that Java trusts if it is
   *     empty
   * @param own what it shows: a server always, a client where a server asks for it
   * @throws IOException if a file can't be read, holds something else or what has expired; one line
   *     that names it
   */
  public PemTls(Optional<Path> ca, Optional<Own> own) throws IOException {
    this.ca = ca;
    this.own = own;
    versions = versions();
    now = read();
    try {
      context = SSLContext.getInstance("TLS");
      context.init(new KeyManager[] {keys}, new TrustManager[] {trusted}, null);
    } catch (GeneralSecurityException e) {
      throw new IOException("this Java has no TLS: " + e.getMessage(), e);
    }
  }

  /** What new connections are to use, after a look at the files. */
  @Override
  public SSLContext get() {
    reload();
    return context;
  }

  /** Has new connections use what the files hold by now. */
  public synchronized void reload() {
    try {
      List<Optional<FileVersion>> found = versions();
      if (!found.equals(versions)) {
        versions = found;
        now = read();
        log.info("certificates were read again");
      }
    } catch (IOException e) {
      log.warn("certificates are as they were, since {}", e.getMessage());
    }
  }

  /** For a server, whose options want them by themselves. */
  KeyManager keys() {
    return keys;
  }

  TrustManager trusted() {
    return trusted;
  }

  private List<Optional<FileVersion>> versions() throws IOException {
    var all = new ArrayList<Optional<FileVersion>>();
    if (ca.isPresent()) {
      all.add(FileVersion.of(ca.get()));
    }
    if (own.isPresent()) {
      all.add(FileVersion.of(own.get().certificate));
      all.add(FileVersion.of(own.get().key));
    }
    return all;
  }

  private Managers read() throws IOException {
    try {
      return new Managers(keys(own), trusted(ca));
    } catch (GeneralSecurityException e) {
      throw new IOException("this Java has no TLS: " + e.getMessage(), e);
    }
  }

  private static X509ExtendedTrustManager trusted(Optional<Path> ca)
      throws IOException, GeneralSecurityException {
    KeyStore store = null; // which stands for those that Java trusts
    if (ca.isPresent()) {
      store = empty();
      List<X509Certificate> all = certificates(ca.get());
      requireValid(
          ca.get(), all.stream().max(Comparator.comparing(X509Certificate::getNotAfter)).get());
      for (Certificate each : all) {
        store.setCertificateEntry("ca" + store.size(), each);
      }
    }
    var factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(store);
    return (X509ExtendedTrustManager) factory.getTrustManagers()[0];
  }

  private static X509ExtendedKeyManager keys(Optional<Own> shown)
      throws IOException, GeneralSecurityException {
    KeyStore store = empty();
    if (shown.isPresent()) {
      put(shown.get(), store);
    }
    var factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    factory.init(store, NO_PASSWORD);
    return (X509ExtendedKeyManager) factory.getKeyManagers()[0];
  }

  private static void put(Own own, KeyStore store) throws IOException {
    List<X509Certificate> chain = certificates(own.certificate);
    requireValid(own.certificate, chain.get(0));
    Matcher pem = KEY.matcher(Files.readString(own.key, ISO_8859_1)); // text may stand around it
    if (!pem.find()) {
      throw new IOException(
          own.key + " holds no private key of PKCS 8 without a password, \"BEGIN PRIVATE KEY\"");
    }
    try {
      byte[] bytes = Base64.getMimeDecoder().decode(pem.group(1));
      String algorithm = chain.get(0).getPublicKey().getAlgorithm();
      PrivateKey key =
          KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(bytes));
      requirePair(chain.get(0).getPublicKey(), key);
      store.setKeyEntry("own", key, NO_PASSWORD, chain.toArray(Certificate[]::new));
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      throw new IOException(own.key + " is no key of " + own.certificate, e);
    }
  }

  /** Nobody at the other end could say of which file it speaks. */
  private static void requireValid(Path file, X509Certificate certificate) throws IOException {
    if (certificate.getNotAfter().before(new Date())) { // by the clock that TLS goes by
      throw new IOException(
          "%s: its certificate expired at %s; replace it, or set this machine's clock"
              .formatted(file, certificate.getNotAfter().toInstant()));
    }
  }

  /** While files are replaced, they may be of two certificates. */
  private static void requirePair(PublicKey certified, PrivateKey key)
      throws GeneralSecurityException {
    String algorithm = key.getAlgorithm();
    String name = algorithm.equals("EC") ? "SHA256withECDSA" : "SHA256with" + algorithm;
    Signature signature = Signature.getInstance(algorithm.equals("EdDSA") ? algorithm : name);
    signature.initSign(key);
    byte[] signed = signature.sign();
    signature.initVerify(certified);
    if (!signature.verify(signed)) {
      throw new GeneralSecurityException("not its key");
    }
  }

  private static KeyStore empty() throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    return store;
  }

  private static List<X509Certificate> certificates(Path file) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    // Java would take a key among them for a broken certificate, and the mark that editors put at
    // the beginning of a text too.
    var pem = new StringBuilder();
    Matcher parts = CERTIFICATE.matcher(new String(bytes, ISO_8859_1));
    while (parts.find()) {
      pem.append(parts.group()).append('\n');
    }
    var in = new ByteArrayInputStream(pem.isEmpty() ? bytes : pem.toString().getBytes(ISO_8859_1));
    try {
      var all = new ArrayList<X509Certificate>();
      for (Certificate each : CertificateFactory.getInstance("X.509").generateCertificates(in)) {
        all.add((X509Certificate) each);
      }
      if (all.isEmpty()) {
        throw new IOException(file + " holds no certificate of PEM, \"BEGIN CERTIFICATE\"");
      }
      return List.copyOf(all);
    } catch (CertificateException e) {
      throw new IOException(file + " holds no certificate of PEM, \"BEGIN CERTIFICATE\"", e);
    }
  }

  /** Those of the moment. */
  private final class Keys extends X509ExtendedKeyManager {
    @Override
    public String @Nullable [] getClientAliases(String type, Principal @Nullable [] issuers) {
      return now.keys.getClientAliases(type, issuers);
    }

    @Override
    public @Nullable String chooseClientAlias(
        String[] types, Principal @Nullable [] issuers, @Nullable Socket socket) {
      return now.keys.chooseClientAlias(types, issuers, socket);
    }

    @Override
    public @Nullable String chooseEngineClientAlias(
        String[] types, Principal @Nullable [] issuers, @Nullable SSLEngine engine) {
      return now.keys.chooseEngineClientAlias(types, issuers, engine);
    }

    @Override
    public String @Nullable [] getServerAliases(String type, Principal @Nullable [] issuers) {
      return now.keys.getServerAliases(type, issuers);
    }

    @Override
    public @Nullable String chooseServerAlias(
        String type, Principal @Nullable [] issuers, @Nullable Socket socket) {
      return now.keys.chooseServerAlias(type, issuers, socket);
    }

    @Override
    public @Nullable String chooseEngineServerAlias(
        String type, Principal @Nullable [] issuers, @Nullable SSLEngine engine) {
      return now.keys.chooseEngineServerAlias(type, issuers, engine);
    }

    @Override
    public X509Certificate @Nullable [] getCertificateChain(String alias) {
      return now.keys.getCertificateChain(alias);
    }

    @Override
    public @Nullable PrivateKey getPrivateKey(String alias) {
      return now.keys.getPrivateKey(alias);
    }
  }

  /** Those of the moment. */
  private final class Trusted extends X509ExtendedTrustManager {
    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type)
        throws CertificateException {
      now.trusted.checkClientTrusted(chain, type);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
        throws CertificateException {
      now.trusted.checkClientTrusted(chain, type, socket);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
        throws CertificateException {
      now.trusted.checkClientTrusted(chain, type, engine);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type)
        throws CertificateException {
      now.trusted.checkServerTrusted(chain, type);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
        throws CertificateException {
      now.trusted.checkServerTrusted(chain, type, socket);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
        throws CertificateException {
      now.trusted.checkServerTrusted(chain, type, engine);
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return now.trusted.getAcceptedIssuers();
    }
  }
}
