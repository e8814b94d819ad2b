package dev.cinch.lease.http;

import java.security.KeyManagementException;
import java.security.SecureRandom;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import org.jspecify.annotations.Nullable;

/**
 * For a client that speaks plain HTTP. Java's client asks for a context before it is known whether
 * it needs one, and its own reads all certificates that Java trusts: a quarter of a short command.
 */
final class NoTls extends SSLContextSpi {
  private NoTls() {}

  /** Thread-safe. Nothing can be encrypted with it. */
  static SSLContext context() {
    return new SSLContext(new NoTls(), null, "none") {};
  }

  private static UnsupportedOperationException none() {
    return new UnsupportedOperationException("the lease service's address says http, not https");
  }

  @Override
  protected void engineInit(
      KeyManager @Nullable [] keys, TrustManager @Nullable [] trust, @Nullable SecureRandom random)
      throws KeyManagementException {
    throw none();
  }

  @Override
  protected SSLSocketFactory engineGetSocketFactory() {
    throw none();
  }

  @Override
  protected SSLServerSocketFactory engineGetServerSocketFactory() {
    throw none();
  }

  @Override
  protected SSLEngine engineCreateSSLEngine() {
    throw none();
  }

  @Override
  protected SSLEngine engineCreateSSLEngine(String host, int port) {
    throw none();
  }

  @Override
  protected SSLSessionContext engineGetServerSessionContext() {
    throw none();
  }

  @Override
  protected SSLSessionContext engineGetClientSessionContext() {
    throw none();
  }

  @Override
  protected SSLParameters engineGetDefaultSSLParameters() {
    return new SSLParameters(new String[0], new String[0]);
  }

  @Override
  protected SSLParameters engineGetSupportedSSLParameters() {
    return new SSLParameters(new String[0], new String[0]);
  }
}
