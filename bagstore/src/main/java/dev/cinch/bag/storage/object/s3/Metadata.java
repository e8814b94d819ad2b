package dev.cinch.bag.storage.object.s3;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.databind.JsonNode;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.HostPort;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.JsonTree;
import dev.cinch.lease.http.HttpConnections;
import dev.cinch.lease.http.HttpConnections.Patience;
import dev.cinch.lease.http.Reply;
import dev.cinch.lease.http.Request;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Credentials that a cloud gives to its containers and machines, from addresses that only these
 * reach. Elsewhere nobody answers there, and that is waited for a second. Thread-safe.
 */
@CheckReturnValue
final class Metadata {
  private static final Patience SHORT = new Patience(Duration.ofSeconds(1), Duration.ofSeconds(1));
  private static final Patience CERTAIN =
      new Patience(Duration.ofSeconds(2), Duration.ofSeconds(5));
  private static final int MOST = 64 << 10;
  private static final String CONTAINERS = "http://169.254.170.2";
  private static final Set<String> NEAR =
      Set.of("169.254.170.2", "169.254.170.23", "[fd00:ec2::23]");
  private static final String MACHINES = "http://169.254.169.254";
  private static final String ROLES = "/latest/meta-data/iam/security-credentials/";
  private static final JsonTree JSON = JsonTree.of(JsonFactory.builder(), false);

  private final Environment environment;

  Metadata(Environment environment) {
    this.environment = environment;
  }

  /** Those of a container that was told where to ask. */
  Optional<Credentials> container() throws AccessDeniedException, InterruptedException {
    Optional<URI> uri = containerUri();
    if (uri.isEmpty()) {
      return Optional.empty();
    }
    String source = "the container's " + uri.get();
    var connections = new HttpConnections(0, Optional.empty());
    try {
      Map<String, String> headers =
          containerToken().map(token -> Map.of("Authorization", token)).orElse(Map.of());
      byte[] document = ask(connections, "GET", uri.get(), headers, CERTAIN);
      return Optional.of(credentials(document, source));
    } catch (IOException e) {
      throw Credentials.none("no credentials from %s: %s".formatted(source, e.getMessage()));
    }
  }

  private Optional<String> containerToken() throws IOException {
    Optional<String> file = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    return file.isPresent()
        ? Optional.of(Files.readString(Path.of(file.get()), UTF_8).strip())
        : environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  }

  /** An address that only the machine itself answers, or one of TLS: the token is a secret. */
  Optional<URI> containerUri() throws AccessDeniedException {
    Optional<String> relative = environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    if (relative.isPresent()) {
      return Optional.of(uri(CONTAINERS + relative.get()));
    }
    Optional<String> full = environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if (full.isEmpty()) {
      return Optional.empty();
    }
    URI uri = uri(full.get());
    Optional<HostPort> host = HostPort.of(uri);
    boolean near = host.filter(h -> h.isLoopback() || NEAR.contains(h.host())).isPresent();
    if (host.isEmpty() || (!near && !"https".equals(uri.getScheme()))) {
      throw Credentials.none(
          "AWS_CONTAINER_CREDENTIALS_FULL_URI is " + uri + ", which is neither near nor of https");
    }
    return Optional.of(uri);
  }

  private static URI uri(String text) throws AccessDeniedException {
    try {
      return URI.create(text);
    } catch (IllegalArgumentException e) {
      throw Credentials.none("not an address of credentials: " + text);
    }
  }

  /** Those of a machine whose cloud gave it a role; empty if nobody answers. */
  Optional<Credentials> machine() throws InterruptedException {
    boolean off =
        environment.get("AWS_EC2_METADATA_DISABLED").filter("true"::equalsIgnoreCase).isPresent();
    if (off) {
      return Optional.empty();
    }
    String base = environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT").orElse(MACHINES);
    String root = base.endsWith("/") ? base.substring(0, base.length() - 1) : base;
    var connections = new HttpConnections(1, Optional.empty());
    try {
      byte[] token =
          ask(
              connections,
              "PUT",
              uri(root + "/latest/api/token"),
              Map.of("X-aws-ec2-metadata-token-ttl-seconds", "21600"),
              SHORT);
      var headers = Map.of("X-aws-ec2-metadata-token", new String(token, UTF_8).strip());
      byte[] roles = ask(connections, "GET", uri(root + ROLES), headers, SHORT);
      String role = new String(roles, UTF_8).strip().lines().findFirst().orElse("");
      if (role.isEmpty()) {
        return Optional.empty();
      }
      byte[] document = ask(connections, "GET", uri(root + ROLES + role), headers, SHORT);
      return Optional.of(credentials(document, "the machine's role " + role));
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  private static byte[] ask(
      HttpConnections connections,
      String method,
      URI uri,
      Map<String, String> headers,
      Patience patience)
      throws IOException, InterruptedException {
    Optional<List<ByteBuffer>> body =
        method.equals("PUT") ? Optional.of(List.of()) : Optional.empty();
    var request = new Request(method, uri, headers, body, Set.of());
    try (Reply reply = connections.ask(request, patience)) {
      byte[] all = reply.whole(MOST);
      if (reply.status() != 200) {
        throw new IOException("it answers " + reply.status());
      }
      return all;
    }
  }

  private static Credentials credentials(byte[] document, String source) throws IOException {
    JsonNode node = JSON.read(document);
    String id = node.path("AccessKeyId").asText("");
    String secret = node.path("SecretAccessKey").asText("");
    if (id.isEmpty() || secret.isEmpty()) {
      throw new IOException("it answers without AccessKeyId and SecretAccessKey");
    }
    Optional<String> token =
        Optional.of(node.path("Token").asText("")).filter(text -> !text.isEmpty());
    try {
      String expiration = node.path("Expiration").asText("");
      long expires = expiration.isEmpty() ? Long.MAX_VALUE : IsoTime.nanos(expiration);
      return new Credentials(id, secret, token, expires, source);
    } catch (IllegalArgumentException e) {
      throw new IOException("it answers with an Expiration that is no time", e);
    }
  }
}
