package dev.cinch.bag.storage.object.s3;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.storage.object.RefusedException;
import dev.cinch.bag.storage.object.UnansweredException;
import dev.cinch.lease.OneLine;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.nio.file.AccessDeniedException;
import java.time.Duration;
import java.util.Optional;
import javax.net.ssl.SSLException;

/**
 * Says in one line what went wrong, where, and what to do.
 *
 * @param verb what was asked, and which right that needs
 * @param where the object, or the objects of a listing
 */
@CheckReturnValue
record Trouble(Verb verb, String where, S3Bucket bucket) {
  private static final int MOST_SAID = 300;

  /** What is asked of S3. */
  enum Verb {
    PUT("s3:PutObject"),
    GET("s3:GetObject; without s3:ListBucket one that is missing is refused as well"),
    LIST("s3:ListBucket"),
    DELETE("s3:DeleteObject"),
    SEE(
        "s3:GetBucketVersioning, s3:GetBucketObjectLockConfiguration or s3:GetLifecycleConfiguration");

    private final String right;

    Verb(String right) {
      this.right = right;
    }
  }

  /** Nobody answered. */
  UnansweredException silence(IOException why) {
    Throwable cause =
        why instanceof ConnectException && why.getCause() != null ? why.getCause() : why;
    String reason =
        cause instanceof SocketTimeoutException
            ? "no answer in time"
            : cause instanceof SSLException
                ? "TLS failed: " + cause.getMessage()
                : why instanceof ConnectException
                    ? "can't connect"
                    : why instanceof EOFException
                        ? "the answer broke off"
                        : String.valueOf(why.getMessage());
    String remedy =
        cause instanceof SSLException
            ? "; AWS_CA_BUNDLE names a file with certificates to trust in place of Java's"
            : "; see whether the server runs and is reached from here";
    return new UnansweredException(line(OneLine.of(reason, MOST_SAID) + remedy), why);
  }

  /** What an answer means that is no success. */
  IOException of(Answer answer, Credentials by, long now) {
    String code = answer.code();
    String said = answer.inWords();
    switch (code) {
      case "RequestTimeTooSkewed" -> {
        return denied(clock(answer, now));
      }
      case "InvalidAccessKeyId" -> {
        return denied("it knows no " + by + "; set another one, or check the endpoint");
      }
      case "SignatureDoesNotMatch" -> {
        return denied("the secret does not fit the " + by + "; set the secret that belongs to it");
      }
      case "ExpiredToken", "TokenRefreshRequired", "InvalidToken" -> {
        return denied("the session of the " + by + " is over or unknown; get new credentials");
      }
      case "NoSuchBucket" -> {
        return refused(
            "there is no bucket %s; make it, or check its name, the region %s and the endpoint"
                .formatted(bucket.name(), bucket.region()));
      }
      case "RequestTimeout", "IncompleteBody" -> {
        return unanswered(said); // the request did not arrive whole
      }
      case "NotImplemented" -> {
        String remedy = "; it does not do what Cinch asks, so take another server";
        return refused(verb == Verb.SEE ? said : said + remedy);
      }
      default -> {}
    }
    Optional<String> region = region(answer);
    boolean elsewhere =
        (answer.status() >= 300 && answer.status() < 400)
            || code.equals("AuthorizationHeaderMalformed");
    if (elsewhere || code.equals("IllegalLocationConstraintException")) {
      return refused(elsewhere(answer, region));
    }
    return switch (answer.status()) {
      case 401, 403 -> denied("%s; the %s needs the right %s".formatted(said, by, verb.right));
      case 408, 409, 412, 425, 429 -> unanswered(said);
      case 404 -> refused(said + "; check the endpoint, which may be no object store");
      default -> answer.status() >= 500 || answer.status() < 300 ? unanswered(said) : refused(said);
    };
  }

  private static Optional<String> region(Answer answer) {
    return answer
        .header("x-amz-bucket-region")
        .or(() -> answer.error().flatMap(xml -> xml.get("Region")))
        .map(text -> OneLine.of(text, MOST_SAID));
  }

  private String elsewhere(Answer answer, Optional<String> region) {
    if (region.isPresent() && !region.get().equals(bucket.region())) {
      return "the bucket is in the region %s and was asked for in %s; set AWS_REGION=%s"
          .formatted(region.get(), bucket.region(), region.get());
    }
    String to =
        answer
            .header("location")
            .or(() -> answer.error().flatMap(xml -> xml.get("Endpoint")))
            .map(text -> " to " + OneLine.of(text, MOST_SAID))
            .orElse("");
    return answer.inWords() + "; it sends to another place" + to + "; give that as the endpoint";
  }

  private static String clock(Answer answer, long now) {
    String off =
        answer
            .time("date")
            .map(
                there -> {
                  Duration ahead = Duration.ofNanos(Math.abs(now - there));
                  String way = now > there ? "ahead of" : "behind";
                  return "is %,d s %s the server's".formatted(ahead.toSeconds(), way);
                })
            .orElse("is too far from the server's");
    return "this machine's clock " + off + "; set it";
  }

  private IOException denied(String what) {
    return new AccessDeniedException(null, null, line(what));
  }

  private IOException refused(String what) {
    return new RefusedException(line(what));
  }

  private IOException unanswered(String what) {
    return new UnansweredException(line(what + "; ask again"));
  }

  /** An answer that makes no sense. */
  UnansweredException senseless(String what) {
    return new UnansweredException(line(what));
  }

  private String line(String what) {
    return "%s %s at %s: %s".formatted(verb, where, bucket.server(), what);
  }
}
