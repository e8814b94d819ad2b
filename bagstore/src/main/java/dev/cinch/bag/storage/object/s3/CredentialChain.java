package dev.cinch.bag.storage.object.s3;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * Finds credentials where AWS's tools do, in their order: the environment, a profile, the
 * container's endpoint, and the machine's metadata. They are looked for anew five minutes before
 * they expire, by one thread while others use the old ones. They are written nowhere. Thread-safe.
 */
@CheckReturnValue
public final class CredentialChain implements Credentials.Source {
  private static final long BEFORE = 300_000_000_000L;

  private final Environment environment;
  private final TimeSource time;
  private final Metadata metadata;
  private final Semaphore looking = new Semaphore(1);
  private volatile @Nullable Credentials found;

  public CredentialChain(Environment environment, TimeSource time) {
    this.environment = environment;
    this.time = time;
    metadata = new Metadata(environment);
  }

  @Override
  public Credentials current() throws IOException, InterruptedException {
    Credentials now = found;
    if (now != null && time.wallNanos() < now.expires() - BEFORE) {
      return now;
    }
    if (now != null && time.wallNanos() < now.expires()) {
      return renewed(now);
    }
    looking.acquire();
    try {
      now = found;
      if (now == null || time.wallNanos() >= now.expires() - BEFORE) {
        now = look();
        found = now;
      }
      return now;
    } finally {
      looking.release();
    }
  }

  /** The old ones hold still, so nobody waits for others or fails. */
  private Credentials renewed(Credentials old) throws InterruptedException {
    if (!looking.tryAcquire()) {
      return old;
    }
    try {
      Credentials now = look();
      found = now;
      return now;
    } catch (IOException e) {
      return old;
    } finally {
      looking.release();
    }
  }

  @Override
  public void refused() {
    found = null;
  }

  private Credentials look() throws IOException, InterruptedException {
    Optional<Credentials> next = ofEnvironment();
    if (next.isEmpty()) {
      next = Profile.read(environment).credentials();
    }
    if (next.isEmpty()) {
      next = metadata.container();
    }
    if (next.isEmpty()) {
      next = metadata.machine();
    }
    return next.orElseThrow(
        () ->
            Credentials.none(
                "there are no credentials for S3; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,"
                    + " or write them into "
                    + environment.file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials")));
  }

  private Optional<Credentials> ofEnvironment() throws IOException {
    Optional<String> id = environment.get("AWS_ACCESS_KEY_ID");
    Optional<String> secret = environment.get("AWS_SECRET_ACCESS_KEY");
    if (id.isPresent() != secret.isPresent()) {
      throw Credentials.none(
          "of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY one alone is set; set both, or none");
    }
    return id.map(
        key ->
            new Credentials(
                key,
                secret.orElseThrow(),
                environment.get("AWS_SESSION_TOKEN"),
                Long.MAX_VALUE,
                "the environment"));
  }
}
