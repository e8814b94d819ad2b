package dev.cinch.bag.storage.object.s3;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.storage.object.ObjectAddress;
import dev.cinch.bag.storage.object.Objects;
import dev.cinch.bag.storage.object.UnansweredException;
import dev.cinch.bag.storage.object.s3.Trouble.Verb;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.http.HttpConnections;
import dev.cinch.lease.http.HttpConnections.Patience;
import dev.cinch.lease.http.Reply;
import dev.cinch.lease.http.Request;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.wire.PemTls;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A bucket of S3, or of a server that speaks as S3 does. It needs {@code If-None-Match: *} for PUT,
 * ranges, and ListObjectsV2. Thread-safe.
 */
@CheckReturnValue
public final class S3Objects implements Objects {
  private static final int MOST_LISTED = 16 << 20;
  private static final int MOST_SAID = 1 << 20;
  private static final int MOST_NAMED = 80;

  /** Connections that are kept. */
  private static final int IN_FLIGHT = 32;

  /** A large batch over a slow line needs its time; whoever has to know sooner is interrupted. */
  private static final Patience PATIENCE =
      new Patience(Duration.ofSeconds(3), Duration.ofSeconds(30));

  private static final Pattern RANGE =
      Pattern.compile("bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})");
  private static final Set<String> WANTED =
      Set.of(
          "content-length",
          "content-range",
          "date",
          "last-modified",
          "location",
          "server",
          "x-amz-bucket-region");
  private static final Set<String> UNSET =
      Set.of("NoSuchLifecycleConfiguration", "ObjectLockConfigurationNotFoundError");

  private final S3Bucket bucket;
  private final Credentials.Source credentials;
  private final TimeSource time;
  private final Patience patience;
  private final Signer signer;
  private final HttpConnections connections;
  private volatile Optional<String> server = Optional.empty();

  /**
   * A client for an address that somebody named, as AWS's tools find the rest. It asks nothing yet.
   */
  public static S3Objects at(ObjectAddress address, TimeSource time) throws IOException {
    return at(address, Environment.ofProcess(), time);
  }

  static S3Objects at(ObjectAddress address, Environment here, TimeSource time) throws IOException {
    S3Bucket bucket = S3Bucket.of(address, here);
    Profile profile = Profile.read(here);
    Optional<Path> ca = here.get("AWS_CA_BUNDLE").or(() -> profile.get("ca_bundle")).map(Path::of);
    return new S3Objects(
        bucket,
        new CredentialChain(here, time),
        time,
        PATIENCE,
        new HttpConnections(
            IN_FLIGHT,
            ca.isEmpty() ? Optional.empty() : Optional.of(new PemTls(ca, Optional.empty()))));
  }

  /**
   * A client, which asks nothing yet.
   *
   * @param patience for one request; a large body needs its time
   * @param inFlight how many requests there are at once, so as many connections are kept
   */
  public S3Objects(
      S3Bucket bucket,
      Credentials.Source credentials,
      TimeSource time,
      Patience patience,
      int inFlight) {
    this(bucket, credentials, time, patience, new HttpConnections(inFlight, Optional.empty()));
  }

  private S3Objects(
      S3Bucket bucket,
      Credentials.Source credentials,
      TimeSource time,
      Patience patience,
      HttpConnections connections) {
    this.bucket = bucket;
    this.credentials = credentials;
    this.time = time;
    this.patience = patience;
    signer = new Signer(bucket.region());
    this.connections = connections;
  }

  @Override
  public boolean put(String key, ByteBuffer... body) throws IOException {
    var asked = new Asked(Verb.PUT, bucket.named(key), bucket.object(key));
    try {
      Answer answer = asked.send("PUT", Map.of("if-none-match", "*"), Optional.of(List.of(body)));
      if (answer.status() == 200 && answer.error().isEmpty()) {
        return true;
      }
      throw asked.failure(answer);
    } catch (UnansweredException e) {
      return false;
    }
  }

  @Override
  public Got get(String key, long from, int most) throws IOException {
    if (most == 0) { // HEAD would not say why there is none
      Got one = get(key, from, 1);
      return new Got(new byte[0], one.size(), one.changedAt(), one.now());
    }
    var asked = new Asked(Verb.GET, bucket.named(key), bucket.object(key));
    int length = Math.min(most, Integer.MAX_VALUE - 16);
    boolean part = from > 0 || most < Integer.MAX_VALUE;
    long last = from > Long.MAX_VALUE - length ? Long.MAX_VALUE : from + length - 1;
    Map<String, String> range =
        part ? Map.of("range", "bytes=%d-%d".formatted(from, last)) : Map.of();
    Answer answer = asked.send("GET", range, Optional.empty(), from, length);
    return switch (answer.status()) {
      case 200 -> asked.got(answer, part ? asked.size(answer) : answer.body().length);
      case 206 -> asked.part(answer, from, length);
      case 416 -> {
        // Nothing is there. An empty object has no first byte either.
        Got some = from > 0 ? get(key, 0, 1) : get(key, 0, Integer.MAX_VALUE);
        if (some.size() > from) {
          throw asked.trouble.senseless("it refuses a part that is there");
        }
        yield new Got(new byte[0], some.size(), some.changedAt(), some.now());
      }
      case 404 -> {
        if (answer.code().equals("NoSuchKey")) {
          throw new NoSuchFileException(bucket.named(key));
        }
        throw asked.failure(answer);
      }
      default -> throw asked.failure(answer);
    };
  }

  @Override
  public Listing list(String prefix, String after, boolean places) throws IOException {
    String query = Listings.query(prefix, after, places);
    var asked = new Asked(Verb.LIST, bucket.named(prefix), bucket.listing(query));
    Answer answer = asked.send("GET", Map.of(), Optional.empty());
    if (answer.status() != 200 || answer.error().isPresent()) {
      throw asked.failure(answer);
    }
    try {
      return Listings.read(answer.body(), prefix);
    } catch (IOException e) {
      throw asked.trouble.senseless(String.valueOf(e.getMessage()));
    }
  }

  @Override
  public void delete(String key) throws IOException {
    var asked = new Asked(Verb.DELETE, bucket.named(key), bucket.object(key));
    Answer answer = asked.send("DELETE", Map.of(), Optional.empty());
    boolean gone = answer.status() == 404 && answer.code().equals("NoSuchKey");
    boolean done = (answer.status() == 204 || answer.status() == 200) && answer.error().isEmpty();
    if (!gone && !done) {
      throw asked.failure(answer);
    }
  }

  /** What the server calls itself, as it answered last; empty if it does not say. */
  public Optional<String> server() {
    return server;
  }

  /**
   * What the bucket's owner set.
   *
   * @param which of the settings, as an address names it
   * @param name of what the server answers
   * @return empty if nothing was set
   */
  Optional<Xml> setting(String which, String name) throws IOException {
    var asked = new Asked(Verb.SEE, bucket.named("?" + which), bucket.listing(which + "="));
    Answer answer = asked.send("GET", Map.of(), Optional.empty());
    if (answer.status() == 404 && UNSET.contains(answer.code())) {
      return Optional.empty();
    }
    if (answer.status() != 200 || answer.error().isPresent()) {
      throw asked.failure(answer);
    }
    Xml setting = Xml.read(answer.body());
    if (!setting.name().equals(name)) {
      throw asked.trouble.senseless("it answers something else than what was asked for");
    }
    return Optional.of(setting);
  }

  /** One request. */
  private final class Asked {
    private final URI uri;
    private final Trouble trouble;
    private Optional<Credentials> by = Optional.empty();

    Asked(Verb verb, String where, URI uri) {
      this.uri = uri;
      trouble = new Trouble(verb, where, bucket);
    }

    Answer send(String method, Map<String, String> headers, Optional<List<ByteBuffer>> body)
        throws IOException {
      return send(method, headers, body, 0, MOST_LISTED);
    }

    /** Of what is no refusal so much is read, from a byte on if the server sends all. */
    Answer send(
        String method,
        Map<String, String> headers,
        Optional<List<ByteBuffer>> body,
        long from,
        int most)
        throws IOException {
      try {
        Credentials now = credentials.current();
        by = Optional.of(now);
        ByteBuffer[] parts = body.orElse(List.of()).toArray(new ByteBuffer[0]);
        Map<String, String> signed =
            signer.sign(now, method, uri, headers, parts, time.wallNanos());
        return answer(new Request(method, uri, signed, body, WANTED), from, most);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw (IOException)
            new InterruptedIOException("interrupted while asking " + bucket.server()).initCause(e);
      }
    }

    private Answer answer(Request request, long from, int most)
        throws IOException, InterruptedException {
      try (Reply reply = connections.ask(request, patience)) {
        var told = new HashMap<String, String>();
        WANTED.forEach(name -> reply.header(name).ifPresent(value -> told.put(name, value)));
        server = reply.header("server").map(text -> OneLine.of(text, MOST_NAMED));
        if (reply.status() == 200) {
          long unused = reply.body().skip(from); // nothing is left if it ends before
        }
        boolean cut = reply.status() == 200 && request.headers().containsKey("range");
        byte[] all =
            cut
                ? reply.body().readNBytes(most)
                : reply.whole(reply.status() < 300 ? most : MOST_SAID);
        return new Answer(reply.status(), told, all);
      } catch (IOException e) {
        if (Thread.interrupted()) {
          throw (InterruptedException) new InterruptedException().initCause(e);
        }
        throw trouble.silence(e);
      }
    }

    IOException failure(Answer answer) {
      IOException failure = trouble.of(answer, by.orElseThrow(), time.wallNanos());
      if (failure instanceof AccessDeniedException) {
        credentials.refused();
      }
      return failure;
    }

    /** Of a whole object. */
    long size(Answer answer) throws IOException {
      try {
        return Long.parseLong(answer.header("content-length").orElse(""));
      } catch (NumberFormatException e) {
        throw trouble.senseless("it does not say how long the object is");
      }
    }

    Got got(Answer answer, long size) throws IOException {
      long changedAt =
          answer
              .time("last-modified")
              .orElseThrow(() -> trouble.senseless("it does not say when the object changed"));
      long now =
          answer.time("date").orElseThrow(() -> trouble.senseless("it does not say its time"));
      return new Got(answer.body(), size, changedAt, now);
    }

    /** Another part would be taken for the one that was asked for. */
    Got part(Answer answer, long from, int most) throws IOException {
      Matcher range = RANGE.matcher(answer.header("content-range").orElse(""));
      if (!range.matches()) {
        throw trouble.senseless("it does not say which part it sends");
      }
      long size = Long.parseLong(range.group(3));
      long length = Math.min(most, size - from);
      if (Long.parseLong(range.group(1)) != from || answer.body().length != length) {
        throw trouble.senseless("it sends another part than the one that was asked for");
      }
      return got(answer, size);
    }
  }
}
