package dev.cinch.bag.storage.object.s3;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.cinch.lease.IsoTime;
import java.net.URI;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import org.junit.jupiter.api.Test;

/** The examples of "Authenticating Requests: Using the Authorization Header" in AWS's pages. */
class SignerTest {
  private static final Credentials EXAMPLE =
      new Credentials(
          "AKIAIOSFODNN7EXAMPLE",
          "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
          Optional.empty(),
          Long.MAX_VALUE,
          "an example");
  private static final long THEN = IsoTime.nanos("2013-05-24T00:00:00Z");

  private final Signer signer = new Signer("us-east-1");

  private SortedMap<String, String> sign(
      Credentials by, String method, String path, Map<String, String> headers, String body)
      throws Exception {
    URI uri = URI.create("https://examplebucket.s3.amazonaws.com/" + path);
    byte[] bytes = body.getBytes(UTF_8);
    ByteBuffer[] parts = {
      ByteBuffer.wrap(bytes, 0, bytes.length / 2),
      ByteBuffer.wrap(bytes, bytes.length / 2, bytes.length - bytes.length / 2)
    };
    return signer.sign(by, method, uri, headers, parts, THEN);
  }

  private String signature(String method, String path, Map<String, String> headers, String body)
      throws Exception {
    return sign(EXAMPLE, method, path, headers, body)
        .getOrDefault("authorization", "")
        .replaceFirst(".*SignedHeaders=", "");
  }

  @Test
  void gettingAnObject() throws Exception {
    assertEquals(
        "host;range;x-amz-content-sha256;x-amz-date,"
            + "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        signature("GET", "test.txt", Map.of("range", "bytes=0-9"), ""));
  }

  @Test
  void puttingAnObject() throws Exception {
    assertEquals(
        "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class,"
            + "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        signature(
            "PUT",
            Signer.encode("test$file.text", true),
            Map.of(
                "date",
                "Fri, 24 May 2013 00:00:00 GMT",
                "x-amz-storage-class",
                "REDUCED_REDUNDANCY"),
            "Welcome to Amazon S3."));
  }

  @Test
  void aQueryWithoutAValue() throws Exception {
    assertEquals(
        "host;x-amz-content-sha256;x-amz-date,"
            + "Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        signature("GET", "?lifecycle", Map.of(), ""));
  }

  /** In whatever order its query has them. */
  @Test
  void listingObjects() throws Exception {
    String signature =
        "host;x-amz-content-sha256;x-amz-date,"
            + "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7";
    assertEquals(signature, signature("GET", "?max-keys=2&prefix=J", Map.of(), ""));
    assertEquals(signature, signature("GET", "?prefix=J&max-keys=2", Map.of(), ""));
  }

  /** A key of one secret does not sign for another. */
  @Test
  void otherCredentialsSignOtherwise() throws Exception {
    var other =
        new Credentials("AKIA2", "secret", Optional.of("a token"), Long.MAX_VALUE, "an example");
    SortedMap<String, String> first = sign(EXAMPLE, "GET", "", Map.of(), "");
    SortedMap<String, String> second = sign(other, "GET", "", Map.of(), "");
    assertEquals("a token", second.get("x-amz-security-token"));
    assertEquals(first, sign(EXAMPLE, "GET", "", Map.of(), ""));
    URI uri = URI.create("https://examplebucket.s3.amazonaws.com/");
    var fresh = new Signer("us-east-1");
    assertEquals(second, fresh.sign(other, "GET", uri, Map.of(), new ByteBuffer[0], THEN));
    assertFalse(first.toString().contains(EXAMPLE.secret()));
    assertFalse(EXAMPLE.toString().contains(EXAMPLE.secret()));
  }

  @Test
  void namesAreWrittenByTheirBytes() {
    assertEquals("a/b-._~%20%2B%25%3D%C3%A9", Signer.encode("a/b-._~ +%=é", true));
    assertEquals("a%2Fb", Signer.encode("a/b", false));
  }
}
