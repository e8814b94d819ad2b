package dev.cinch.lease.etcd;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.OneLine;
import io.grpc.netty.GrpcSslContexts;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Where an etcd is, and how one gets in. Immutable.
 *
 * @param endpoints of one cluster, like {@code http://127.0.0.1:2379}; at least one
 * @param tls for endpoints that begin with {@code https}; empty for what this Java trusts, without
 *     a certificate of one's own
 * @param user who asks; empty if etcd does not want to know
 */
@CheckReturnValue
public record EtcdCluster(List<URI> endpoints, Optional<SslContext> tls, Optional<User> user) {
  /** A user of etcd. Without one, etcd takes a certificate's common name for a user's. */
  public record User(String name, String password) {
    /** Without the password. */
    @Override
    public String toString() {
      return name;
    }
  }

  /**
   * @throws IllegalArgumentException if one is no endpoint, or a password would be sent to one
   *     unencrypted
   */
  public EtcdCluster {
    endpoints = List.copyOf(endpoints);
    if (endpoints.isEmpty()) {
      throw new IllegalArgumentException("etcd has at least one endpoint");
    }
    for (URI endpoint : endpoints) {
      String scheme = String.valueOf(endpoint.getScheme());
      if (endpoint.getHost() == null || !List.of("http", "https").contains(scheme)) {
        throw new IllegalArgumentException(
            "not an endpoint of etcd: \"%s\"; one is like http://127.0.0.1:2379"
                .formatted(OneLine.of(endpoint.toString(), 100)));
      }
      if (user.isPresent() && scheme.equals("http")) {
        throw new IllegalArgumentException(
            "a password is not sent to %s, which is not encrypted: name https endpoints"
                .formatted(endpoint));
      }
    }
  }

  /** One that asks for nothing. */
  public static EtcdCluster at(List<URI> endpoints) {
    return new EtcdCluster(endpoints, Optional.empty(), Optional.empty());
  }

  /**
   * One with files of PEM.
   *
   * @throws IllegalArgumentException as the constructor
   * @throws IOException as {@link #tls}
   */
  public static EtcdCluster of(
      List<URI> endpoints, Optional<Path> ca, Optional<Own> own, Optional<User> user)
      throws IOException {
    boolean isUsual = ca.isEmpty() && own.isEmpty();
    return new EtcdCluster(endpoints, isUsual ? Optional.empty() : Optional.of(tls(ca, own)), user);
  }

  /** A certificate, with those above it, and the file with the key that it is for. */
  public record Own(Path certificate, Path key) {}

  /**
   * What a client of TLS needs, from PEM files.
   *
   * @param ca certificates that servers' have to be signed by; empty for those that Java trusts
   * @param own this client's; empty to show none
   * @throws IOException one line that names the file, and says what is wrong with it
   */
  static SslContext tls(Optional<Path> ca, Optional<Own> own) throws IOException {
    SslContextBuilder tls = GrpcSslContexts.forClient();
    try {
      ca.ifPresent(file -> tls.trustManager(file.toFile()));
      own.ifPresent(its -> tls.keyManager(its.certificate().toFile(), its.key().toFile()));
      return tls.build();
    } catch (IllegalArgumentException e) {
      Throwable why = e.getCause() != null ? e.getCause() : e;
      throw new IOException(
          "%s: %s; a PEM file is wanted, with a key of PKCS#8 that is not encrypted (openssl pkcs8 -topk8 -nodes makes one)"
              .formatted(e.getMessage(), OneLine.of(String.valueOf(why.getMessage()), 100)),
          e);
    }
  }

  /** For a message. */
  @Override
  public String toString() {
    return "etcd at " + endpoints.stream().map(URI::toString).collect(Collectors.joining(", "));
  }
}
