package dev.cinch.cli.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.bag.storage.object.s3.BucketSettings;
import dev.cinch.bag.storage.object.s3.Credentials;
import dev.cinch.bag.storage.object.s3.FakeS3;
import dev.cinch.bag.storage.object.s3.S3Bucket;
import dev.cinch.bag.storage.object.s3.S3Objects;
import dev.cinch.lease.http.HttpConnections.Patience;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(600)
class BucketProbesTest {
  private static final Patience PATIENT = new Patience(Duration.ofDays(1), Duration.ofDays(1));

  private final FakeS3 server = new FakeS3();
  private final Diagnosed diagnosed = new Diagnosed();

  BucketProbesTest() throws IOException {}

  @AfterEach
  void close() throws IOException {
    server.close();
  }

  private void run() throws IOException {
    var bucket = new S3Bucket("abc", "us-east-1", URI.create(server.address() + "/abc"));
    var by = new Credentials("AKIA", "s", Optional.empty(), Long.MAX_VALUE, "a test");
    var objects = new S3Objects(bucket, () -> by, new ManualTime(), PATIENT, 1);
    new BucketProbes(new BucketSettings(objects), "p/", diagnosed.diagnosis).run();
  }

  @Test
  void harmIsTold() throws Exception {
    server
        .answer(
            "200 OK",
            "<LifecycleConfiguration><Rule><ID>tidy</ID><Status>Enabled</Status><Expiration>"
                + "<Days>3</Days></Expiration></Rule></LifecycleConfiguration>")
        .answer(
            "200 OK",
            "<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>")
        .answer(
            "200 OK",
            "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>"
                + "</ObjectLockConfiguration>");
    run();
    diagnosed.has("FAIL lifecycle rules delete objects: tidy", "messages would be lost");
    diagnosed.has("note versioning is Suspended", "costs");
    diagnosed.has("warn object lock is enabled", "gc may be refused");
    assertEquals(3, diagnosed.lines().size());
  }

  @Test
  void whatIsNotSetDoesNone() throws Exception {
    server
        .error("404 Not Found", "NoSuchLifecycleConfiguration")
        .answer("200 OK", "<VersioningConfiguration/>")
        .error("404 Not Found", "ObjectLockConfigurationNotFoundError");
    run();
    diagnosed.has("ok   no lifecycle rule", "messages stay");
    diagnosed.has("ok   no versions", "gone");
    diagnosed.has("ok   no object lock", "gc");
  }

  /** Few may see settings, and not all servers have them. */
  @Test
  void whatIsNotShownIsNoFailure() throws Exception {
    server
        .error("403 Forbidden", "AccessDenied")
        .error("501 Not Implemented", "NotImplemented")
        .error("403 Forbidden", "AccessDenied");
    run();
    diagnosed.has("note lifecycle rules could not be seen", "403 AccessDenied");
    diagnosed.has("note versioning could not be seen", "501 NotImplemented");
    diagnosed.has("note object lock could not be seen", "403 AccessDenied");
    assertEquals(3, diagnosed.lines().size());
  }
}
