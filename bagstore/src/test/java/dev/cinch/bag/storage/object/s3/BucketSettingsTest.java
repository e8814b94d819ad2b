package dev.cinch.bag.storage.object.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.storage.object.RefusedException;
import dev.cinch.lease.http.HttpConnections.Patience;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.net.URI;
import java.nio.file.AccessDeniedException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a bucket's settings mean for a store. */
@Timeout(600)
class BucketSettingsTest {
  private static final Patience PATIENT = new Patience(Duration.ofDays(1), Duration.ofDays(1));
  private static final String OK = "200 OK|Server: Test/1";

  private final FakeS3 server = new FakeS3();
  private final S3Objects objects =
      new S3Objects(
          new S3Bucket("abc", "us-east-1", URI.create(server.address() + "/abc")),
          () -> new Credentials("AKIA", "s", Optional.empty(), Long.MAX_VALUE, "a test"),
          new ManualTime(),
          PATIENT,
          1);
  private final BucketSettings settings = new BucketSettings(objects);

  BucketSettingsTest() throws IOException {}

  @AfterEach
  void close() throws IOException {
    server.close();
  }

  private void asked(String which) {
    String first = server.asked.get(server.asked.size() - 1).first();
    assertEquals("GET /abc?" + which + "= HTTP/1.1", first);
  }

  @Test
  void versions() throws Exception {
    server.answer(OK, "<VersioningConfiguration/>");
    assertEquals(Optional.empty(), settings.versioning());
    asked("versioning");
    for (String status : List.of("Enabled", "Suspended")) {
      server.answer(OK, tag("VersioningConfiguration", tag("Status", status)));
      assertEquals(Optional.of(status), settings.versioning());
    }
    assertEquals(Optional.of("Test/1"), objects.server());
  }

  @Test
  void locks() throws Exception {
    server.error("404 Not Found", "ObjectLockConfigurationNotFoundError");
    assertFalse(settings.locksObjects());
    asked("object-lock");
    server.answer(OK, tag("ObjectLockConfiguration", tag("ObjectLockEnabled", "Enabled")));
    assertTrue(settings.locksObjects());
  }

  private static String tag(String name, String... within) {
    return "<%s>%s</%s>".formatted(name, String.join("", within), name);
  }

  private List<String> expirations(String... rule) throws IOException {
    server.answer(
        OK,
        tag(
            "LifecycleConfiguration",
            tag("Rule", tag("ID", "other"), tag("Status", "Disabled")),
            tag("Rule", rule)));
    return settings.expirations("a/b/");
  }

  @Test
  void expirationsThatDeleteWhatAStoreHas() throws Exception {
    server.error("404 Not Found", "NoSuchLifecycleConfiguration");
    assertEquals(List.of(), settings.expirations("a/b/"));
    asked("lifecycle");
    String id = tag("ID", "tidy");
    String on = tag("Status", "Enabled");
    String days = tag("Expiration", tag("Days", "3"));
    List<String> found = List.of("tidy");
    assertEquals(found, expirations(id, on, days));
    assertEquals(found, expirations(id, on, tag("Expiration", tag("Date", "2030-01-01"))));
    assertEquals(List.of("one without a name"), expirations(on, days));
    for (String reached : List.of("", "a", "a/b/", "a/b/logs/")) {
      assertEquals(found, expirations(id, on, days, tag("Prefix", reached)));
      assertEquals(found, expirations(id, on, days, tag("Filter", tag("Prefix", reached))));
      String and = tag("And", tag("Prefix", reached), tag("ObjectSizeLessThan", "9"));
      assertEquals(found, expirations(id, on, days, tag("Filter", and)));
    }

    assertEquals(List.of(), expirations(id, tag("Status", "Disabled"), days));
    assertEquals(List.of(), expirations(id, on, days, tag("Prefix", "a/c/")));
    assertEquals(List.of(), expirations(id, on, days, tag("Filter", tag("Tag", tag("Key", "x")))));
    String marker = tag("Expiration", tag("ExpiredObjectDeleteMarker", "true"));
    assertEquals(List.of(), expirations(id, on, marker));
    String old = tag("NoncurrentVersionExpiration", tag("NoncurrentDays", "1"));
    assertEquals(List.of(), expirations(id, on, old));
  }

  /** Else something would look unset that nobody showed. */
  @Test
  void whatIsNotShownIsNotUnset() {
    server.error("403 Forbidden", "AccessDenied");
    var denied = assertThrows(AccessDeniedException.class, settings::versioning);
    assertTrue(denied.getReason().contains("needs the right s3:GetBucketVersioning, "));
    server.error("501 Not Implemented", "NotImplemented");
    var lacking = assertThrows(RefusedException.class, settings::locksObjects);
    assertTrue(lacking.getMessage().endsWith("501 NotImplemented: Said so"));
    server.error("404 Not Found", "NoSuchBucket");
    assertThrows(RefusedException.class, () -> settings.expirations("a/"));
    server.answer(OK, "<ListBucketResult/>"); // as who does not know that there are settings
    assertThrows(IOException.class, () -> settings.expirations("a/"));
    server.answer(OK, "no XML");
    assertThrows(IOException.class, settings::versioning);
  }
}
