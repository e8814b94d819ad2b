package dev.cinch.bag.storage.object.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.IsoTime;
import dev.cinch.lease.time.ManualTime;
import java.net.ServerSocket;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Where credentials are found, and when they are looked for anew. */
@Timeout(600)
class CredentialChainTest {
  private static final long HOUR_MS = 3_600_000;

  @TempDir Path home;

  private final ManualTime time = new ManualTime();

  /** Nothing but files is looked at, unless more is said. */
  private final Map<String, String> variables =
      new TreeMap<>(Map.of("AWS_EC2_METADATA_DISABLED", "true"));

  private CredentialChain chain() {
    return new CredentialChain(new Environment(variables, home), time);
  }

  private Credentials found() throws Exception {
    return chain().current();
  }

  private String refusal() {
    return String.valueOf(assertThrows(AccessDeniedException.class, this::found).getMessage());
  }

  private Path file(String name, String text) throws Exception {
    Path file = home.resolve(name);
    Files.createDirectories(file.getParent());
    return Files.writeString(file, text);
  }

  @Test
  void theEnvironmentComesFirst() throws Exception {
    file(".aws/credentials", "[default]\naws_access_key_id=b\naws_secret_access_key=c\n");
    variables.putAll(Map.of("AWS_ACCESS_KEY_ID", "k", "AWS_SECRET_ACCESS_KEY", "s"));
    assertEquals(
        new Credentials("k", "s", Optional.empty(), Long.MAX_VALUE, "the environment"), found());
    variables.put("AWS_SESSION_TOKEN", "t");
    assertEquals(Optional.of("t"), found().sessionToken());
    variables.remove("AWS_ACCESS_KEY_ID");
    assertEquals(
        "of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY one alone is set; set both, or none",
        refusal());
  }

  @Test
  void thenAProfile() throws Exception {
    file(
        ".aws/credentials",
        """
        # a comment = x
        [other]
        aws_access_key_id = no
        [ default ]
        [default] ; the usual one
        aws_access_key_id = k=1
        # aws_access_key_id = no
        aws_secret_access_key=s
        s3 =
          aws_secret_access_key = nested
        aws_session_token = t
        """);
    file(".aws/config", "[profile p]\naws_access_key_id = k2\naws_secret_access_key = s2\n");
    Credentials usual = found();
    assertEquals(
        "k=1 s t", usual.keyId() + " " + usual.secret() + " " + usual.sessionToken().get());
    assertEquals("profile default of " + home.resolve(".aws/credentials"), usual.source());
    variables.put("AWS_PROFILE", "p");
    assertEquals("k2", found().keyId());
    Path elsewhere = file("x/y", "[p]\naws_access_key_id = k3\naws_secret_access_key = s3\n");
    variables.put("AWS_SHARED_CREDENTIALS_FILE", elsewhere.toString());
    assertEquals("k3", found().keyId());
    variables.put("AWS_PROFILE", "q");
    assertEquals(
        "profile q is not there in %s and %s".formatted(elsewhere, home.resolve(".aws/config")),
        refusal());
    variables.put("AWS_PROFILE", "r");
    variables.put("AWS_CONFIG_FILE", file("z", "[profile r]\nregion = x\n").toString());
    assertTrue(refusal().startsWith("profile r has no aws_access_key_id"));
  }

  @Test
  void waysThatAreNotOursSayWhatToDo() throws Exception {
    Path config = file(".aws/config", "[default]\nrole_arn = arn:x\n");
    assertEquals(
        ("profile default of %s asks for role_arn, which Cinch does not do; set the variables that"
                + " aws configure export-credentials --profile default --format env prints")
            .formatted(config),
        refusal());
  }

  @Test
  void withoutAnyItSaysWhatToSet() {
    assertEquals(
        "there are no credentials for S3; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or"
            + " write them into "
            + home.resolve(".aws/credentials"),
        refusal());
  }

  private String document(String key, long expiresMs) {
    return """
        {"AccessKeyId": "%s", "SecretAccessKey": "s", "Token": "t", "Expiration": "%sZ"}"""
        .formatted(key, IsoTime.text(ManualTime.START + expiresMs * 1_000_000).replace("Z", ""));
  }

  /** Five minutes before; until then and where that fails the old ones hold. */
  @Test
  void thoseOfAContainerAreRenewedBeforeTheyExpire() throws Exception {
    try (var server = new FakeS3()) {
      variables.put("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.address() + "/creds");
      variables.put("AWS_CONTAINER_AUTHORIZATION_TOKEN", "secret token");
      server.answer("200 OK", document("k1", HOUR_MS));
      CredentialChain chain = chain();
      assertEquals("k1", chain.current().keyId());
      time.advanceMs(HOUR_MS - 300_001);
      assertEquals("k1", chain.current().keyId());
      assertEquals(1, server.asked.size());
      assertEquals("GET /creds HTTP/1.1", server.asked.get(0).first());
      assertEquals("authorization: secret token", server.asked.get(0).header("authorization"));

      time.advanceMs(1);
      server.answer("500 Oops", "");
      assertEquals("k1", chain.current().keyId());
      server.answer("200 OK", document("k2", 2 * HOUR_MS));
      assertEquals("k2", chain.current().keyId());
      assertEquals("k2", chain.current().keyId());

      time.advanceMs(2 * HOUR_MS);
      server.answer("500 Oops", "");
      var e = assertThrows(AccessDeniedException.class, chain::current);
      assertEquals(
          "no credentials from the container's %s/creds: it answers 500"
              .formatted(server.address()),
          e.getMessage());
      server.answer("200 OK", document("k3", 9 * HOUR_MS));
      assertEquals("k3", chain.current().keyId());

      server.answer("200 OK", document("k4", 9 * HOUR_MS));
      chain.refused();
      assertEquals("k4", chain.current().keyId());
    }
  }

  @Test
  void aContainersTokenMayBeInAFile() throws Exception {
    try (var server = new FakeS3()) {
      variables.put("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.address());
      variables.put("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file("t", "abc\n").toString());
      server.answer("200 OK", document("k", HOUR_MS));
      assertEquals("k", found().keyId());
      assertEquals("authorization: abc", server.asked.get(0).header("authorization"));
      server.answer("200 OK", "{}");
      assertTrue(refusal().endsWith("it answers without AccessKeyId and SecretAccessKey"));
    }
  }

  @Test
  void aContainersTokenGoesToNobodyFar() throws Exception {
    variables.put("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.com/");
    assertEquals(
        "AWS_CONTAINER_CREDENTIALS_FULL_URI is http://example.com/, which is neither near nor of"
            + " https",
        refusal());
    variables.put("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x");
    assertEquals(
        "http://169.254.170.2/v2/x",
        new Metadata(new Environment(variables, home)).containerUri().get().toString());
  }

  @Test
  void lastAMachinesRole() throws Exception {
    try (var server = new FakeS3()) {
      variables.put("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.address() + "/");
      variables.remove("AWS_EC2_METADATA_DISABLED");
      server.answer("200 OK", "a token").answer("200 OK", "a-role\n");
      server.answer("200 OK", document("k", HOUR_MS));
      Credentials found = found();
      assertEquals("k", found.keyId());
      assertEquals(Optional.of("t"), found.sessionToken());
      assertEquals("the machine's role a-role", found.source());
      assertEquals("PUT /latest/api/token HTTP/1.1", server.asked.get(0).first());
      String path = "GET /latest/meta-data/iam/security-credentials/";
      assertEquals(path + " HTTP/1.1", server.asked.get(1).first());
      assertEquals(path + "a-role HTTP/1.1", server.asked.get(2).first());
      assertEquals(
          "x-aws-ec2-metadata-token: a token",
          server.asked.get(2).header("x-aws-ec2-metadata-token"));
      server.answer("404 Not Found", "");
      assertTrue(refusal().startsWith("there are no credentials"));
    }
  }

  /** As on machines that are in no such cloud. */
  @Test
  void whereNobodyAnswersThereAreNone() throws Exception {
    int port;
    try (var closed = new ServerSocket(0)) {
      port = closed.getLocalPort();
    }
    variables.remove("AWS_EC2_METADATA_DISABLED");
    variables.put("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:" + port);
    assertTrue(refusal().startsWith("there are no credentials"));
  }
}
