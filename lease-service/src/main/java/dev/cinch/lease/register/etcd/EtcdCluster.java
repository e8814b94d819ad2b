package dev.cinch.lease.register.etcd;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.OneLine;
import java.net.URI;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;

/**
 * Where an etcd is, and how one gets in. Immutable.
 *
 * @param endpoints of one cluster, like {@code http://127.0.0.1:2379}; at least one
 * @param tls for endpoints that begin with {@code https}; empty for what this Java trusts, without
 *     a certificate of one's own
 * @param user who asks; empty if etcd does not want to know
 */
@CheckReturnValue
public record EtcdCluster(List<URI> endpoints, Optional<SSLContext> tls, Optional<User> user) {
  /**
   * A user of etcd, for whom certificates are no substitute: etcd's JSON gateway does not pass on
   * whose certificate it has seen. Where etcd has users it refuses certificates whose subject has a
   * common name.
   */
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

  /** For a message. */
  @Override
  public String toString() {
    return "etcd at " + endpoints.stream().map(URI::toString).collect(Collectors.joining(", "));
  }
}
