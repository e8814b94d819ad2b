package dev.cinch.bag.storage.object.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.bag.storage.object.ObjectAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Where a bucket is, by what a user says and what the environment does. */
class S3BucketTest {
  @TempDir Path home;

  private S3Bucket bucket(String name, Optional<String> endpoint, Map<String, String> variables)
      throws Exception {
    String address = "s3://" + name + endpoint.map(e -> "?endpoint=" + e).orElse("");
    return S3Bucket.of(ObjectAddress.parse(address), new Environment(variables, home));
  }

  @ParameterizedTest
  @CsvSource({
    "abc,us-east-1,https://abc.s3.us-east-1.amazonaws.com/k%20/l",
    "abc,eu-west-1,https://abc.s3.eu-west-1.amazonaws.com/k%20/l",
    "abc,cn-north-1,https://abc.s3.cn-north-1.amazonaws.com.cn/k%20/l",
    "a.bc,us-east-1,https://s3.us-east-1.amazonaws.com/a.bc/k%20/l"
  })
  void aws(String name, String region, String object) throws Exception {
    S3Bucket bucket = bucket(name, Optional.empty(), Map.of("AWS_REGION", region));
    assertEquals(object, bucket.object("k /l").toString());
  }

  @Test
  void anEndpointHasTheBucketInItsPath() throws Exception {
    S3Bucket bucket = bucket("abc", Optional.of("http://localhost:9000/"), Map.of());
    assertEquals("http://localhost:9000/abc/k", bucket.object("k").toString());
    assertEquals("http://localhost:9000/abc?a=b", bucket.listing("a=b").toString());
    assertEquals("us-east-1", bucket.region());
    S3Bucket aws = bucket("abc", Optional.empty(), Map.of());
    assertEquals("https://abc.s3.us-east-1.amazonaws.com/?a=b", aws.listing("a=b").toString());
  }

  /** What is nearer wins: the option, the environment, the profile. */
  @Test
  void endpointAndRegionAreFoundInTheirOrder() throws Exception {
    Files.createDirectory(home.resolve(".aws"));
    Files.writeString(
        home.resolve(".aws/config"),
        "[profile x]\nregion = r4\nendpoint_url = http://e4\n[default]\nregion = r5\n");
    var variables =
        new TreeMap<>(
            Map.of(
                "AWS_ENDPOINT_URL_S3", "http://e2",
                "AWS_ENDPOINT_URL", "http://e3",
                "AWS_REGION", "r2",
                "AWS_DEFAULT_REGION", "r3",
                "AWS_PROFILE", "x"));
    assertEquals("http://e1", bucket("abc", Optional.of("http://e1"), variables).server());
    for (int i = 2; i <= 4; i++) {
      S3Bucket bucket = bucket("abc", Optional.empty(), variables);
      assertEquals("http://e" + i, bucket.server());
      assertEquals("r" + i, bucket.region());
      variables.remove(i == 2 ? "AWS_ENDPOINT_URL_S3" : "AWS_ENDPOINT_URL");
      variables.remove(i == 2 ? "AWS_REGION" : "AWS_DEFAULT_REGION");
    }
    variables.remove("AWS_PROFILE");
    S3Bucket bucket = bucket("abc", Optional.empty(), variables);
    assertEquals("https://abc.s3.r5.amazonaws.com", bucket.server());
  }

  /** The same rule for whoever names it. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "localhost:9000",
        "ftp://x",
        "http://",
        "http://x?y",
        "http://u@x",
        "a b",
        "http://x#y"
      })
  void whatIsNoEndpointIsRefused(String endpoint) {
    String why = endpoint + ": an endpoint is like https://s3.example.com:9000";
    for (var variables : List.of(Map.<String, String>of(), Map.of("AWS_ENDPOINT_URL", endpoint))) {
      Optional<String> named =
          variables.isEmpty() ? Optional.of(endpoint) : Optional.<String>empty();
      var e = assertThrows(IllegalArgumentException.class, () -> bucket("abc", named, variables));
      assertEquals(why, e.getMessage());
    }
  }

  /** Java's own reading of an address knows no such host, and Docker names machines so. */
  @Test
  void aServerMayHaveAnUnderlineAndAPath() throws Exception {
    S3Bucket bucket = bucket("abc", Optional.of("http://s3_1:9000/base//"), Map.of());
    assertEquals("http://s3_1:9000/base/abc/k", bucket.object("k").toString());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "ab", "Abc", "abc-", "-abc", "a b c"})
  void whatIsNoBucketIsRefused(String name) {
    assertThrows(IllegalArgumentException.class, () -> ObjectAddress.parse("s3://" + name));
  }

  @Test
  void whatIsNoRegionIsRefused() {
    assertThrows(
        IllegalArgumentException.class,
        () -> bucket("abc", Optional.empty(), Map.of("AWS_REGION", "x/y")));
  }
}
