package dev.cinch.bag.storage.object.s3;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.storage.object.ObjectAddress;
import dev.cinch.bag.storage.object.Objects.Got;
import dev.cinch.bag.storage.object.Objects.Listed;
import dev.cinch.bag.storage.object.Objects.Listing;
import dev.cinch.bag.storage.object.RefusedException;
import dev.cinch.bag.storage.object.UnansweredException;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.http.HttpConnections.Patience;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What answers of a server mean, and silence. */
@Timeout(600)
class S3ObjectsTest {
  private static final Patience PATIENT = new Patience(Duration.ofDays(1), Duration.ofDays(1));
  private static final Patience HASTY = new Patience(Duration.ofDays(1), Duration.ofMillis(100));
  private static final String MODIFIED =
      "|Date: Fri, 24 May 2013 00:00:05 GMT|Last-Modified: Fri, 24 May 2013 00:00:00 GMT";
  private static final long THEN = IsoTime.nanos("2013-05-24T00:00:00Z");
  private static final String BROKEN = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n<Er";

  private final ManualTime time = new ManualTime();
  private final AtomicInteger refusals = new AtomicInteger();
  private final Credentials.Source credentials =
      new Credentials.Source() {
        @Override
        public Credentials current() {
          return new Credentials("AKIA", "s", Optional.empty(), Long.MAX_VALUE, "a test");
        }

        @Override
        public void refused() {
          refusals.incrementAndGet();
        }
      };
  private final FakeS3 server = new FakeS3();
  private final S3Objects objects = objects(server.address(), PATIENT);

  S3ObjectsTest() throws IOException {}

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  private S3Objects objects(String address, Patience patience) {
    var bucket = new S3Bucket("abc", "us-east-1", URI.create(address + "/abc"));
    return new S3Objects(bucket, credentials, time, patience, 4);
  }

  private static ByteBuffer bytes(String text) {
    return ByteBuffer.wrap(text.getBytes(ISO_8859_1));
  }

  private static String text(Got got) {
    return new String(got.bytes(), ISO_8859_1);
  }

  @Test
  void anObjectIsPutIfThereIsNone() throws Exception {
    server.answer("200 OK", "");
    assertTrue(objects.put("a b/c", bytes("1"), bytes(""), bytes("23")));
    FakeS3.Asked asked = server.asked.get(0);
    assertEquals("PUT /abc/a%20b/c HTTP/1.1", asked.first());
    assertEquals("123", asked.body());
    assertEquals("if-none-match: *", asked.header("if-none-match"));
    assertTrue(asked.header("authorization").contains("signedheaders=host;if-none-match;"));
  }

  /** A GET has to say what is there. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "409 Conflict",
        "412 Precondition Failed",
        "429 Slow Down",
        "408 Request Timeout",
        "500 Oops",
        "501 Not Implemented",
        "502 Bad Gateway",
        "503 Slow Down",
        "504 Gateway Timeout",
        "201 Created",
        "204 No Content"
      })
  void whatBecameOfAPutMayBeUnknown(String status) throws Exception {
    server.answer(status, "");
    assertFalse(objects.put("k", bytes("1")));
    assertEquals(1, server.asked.size());
  }

  @ParameterizedTest
  @CsvSource({
    "200 OK,InternalError",
    "400 Bad Request,RequestTimeout",
    "412 No,PreconditionFailed"
  })
  void anErrorInAPutsAnswerLeavesItUnknown(String status, String code) throws Exception {
    server.error(status, code);
    assertFalse(objects.put("k", bytes("1")));
  }

  /** It may have been carried out before, or be so yet. */
  @ParameterizedTest
  @ValueSource(strings = {"", BROKEN, "nonsense\r\n\r\n"})
  void aConnectionThatBreaksLeavesAPutUnknown(String answer) throws Exception {
    server.raw(answer);
    assertFalse(objects.put("k", bytes("1")));
    assertEquals(1, server.asked.size());
  }

  @Test
  void silenceLeavesAPutUnknown() throws Exception {
    server.raw(FakeS3.SILENCE);
    assertFalse(objects(server.address(), HASTY).put("k", bytes("1")));
    assertFalse(objects(nowhere(), PATIENT).put("k", bytes("1")));
  }

  private static String nowhere() throws IOException {
    try (var closed = new ServerSocket(0)) {
      return "http://127.0.0.1:" + closed.getLocalPort();
    }
  }

  @Test
  void anInterruptIsNoAnswer() {
    Thread.currentThread().interrupt();
    assertThrows(InterruptedIOException.class, () -> objects.put("k", bytes("1")));
    assertTrue(Thread.interrupted());
    assertEquals(0, server.asked.size());
  }

  @Test
  void anObjectIsGotWholeOrInPart() throws Exception {
    server.answer("200 OK" + MODIFIED, "0123456789");
    Got whole = objects.get("k", 0, Integer.MAX_VALUE);
    assertEquals("0123456789", text(whole));
    assertEquals(10, whole.size());
    assertEquals(THEN, whole.changedAt());
    assertEquals("", server.asked.get(0).header("range"));

    server.answer("206 Partial" + MODIFIED + "|Content-Range: bytes 2-4/10", "234");
    Got part = objects.get("k", 2, 3);
    assertEquals("234", text(part));
    assertEquals(10, part.size());
    assertEquals("range: bytes=2-4", server.asked.get(1).header("range"));

    server.answer("206 Partial" + MODIFIED + "|Content-Range: bytes 8-9/10", "89");
    assertEquals("89", text(objects.get("k", 8, Integer.MAX_VALUE)));
  }

  /** A server may send all where it was asked for a part. */
  @Test
  void aPartIsCutFromTheWhole() throws Exception {
    for (int i = 0; i < 3; i++) {
      server.answer("200 OK" + MODIFIED, "0123456789");
    }
    assertEquals("234", text(objects.get("k", 2, 3)));
    assertEquals("89", text(objects.get("k", 8, 3)));
    Got beyond = objects.get("k", 11, 3);
    assertEquals("", text(beyond));
    assertEquals(10, beyond.size());
  }

  /** What such an answer does not say is asked for. */
  @Test
  void beyondTheEndThereIsNothing() throws Exception {
    server.error("416 Range", "InvalidRange");
    server.answer("206 Partial" + MODIFIED + "|Content-Range: bytes 0-0/10", "0");
    Got beyond = objects.get("k", 10, 5);
    assertEquals("", text(beyond));
    assertEquals(10, beyond.size());
    assertEquals(THEN, beyond.changedAt());

    server.error("416 Range", "InvalidRange").answer("200 OK" + MODIFIED, "");
    Got empty = objects.get("k", 0, 5);
    assertEquals(0, empty.size());

    server.error("416 Range", "InvalidRange").answer("200 OK" + MODIFIED, "0123");
    assertThrows(UnansweredException.class, () -> objects.get("k", 0, 5));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "206 Partial|Last-Modified: Fri, 24 May 2013 00:00:00 GMT",
        "206 Partial|Content-Range: bytes 2-4/10",
        "206 Partial|Last-Modified: Fri, 24 May 2013 00:00:00 GMT|Content-Range: bytes 1-3/10",
        "206 Partial|Last-Modified: Fri, 24 May 2013 00:00:00 GMT|Content-Range: bytes 2-4/*",
        "206 Partial|Last-Modified: Fri, 24 May 2013 00:00:00 GMT|Content-Range: bytes 2-4/4",
        "206 Partial|Last-Modified: now|Content-Range: bytes 2-4/10",
        "200 OK",
        "503 Slow Down",
        "429 Slow Down"
      })
  void whatIsNotThePartThatWasAskedForIsNoAnswer(String answer) {
    server.answer(answer, "234");
    assertThrows(UnansweredException.class, () -> objects.get("k", 2, 3));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", FakeS3.SILENCE, BROKEN})
  void silenceIsNoAnswer(String answer) {
    S3Objects hasty = objects(server.address(), HASTY);
    server.raw(answer).raw(answer).raw(answer);
    assertThrows(UnansweredException.class, () -> hasty.get("k", 0, Integer.MAX_VALUE));
    assertThrows(UnansweredException.class, () -> hasty.list("", "", false));
    assertThrows(UnansweredException.class, () -> hasty.delete("k"));
  }

  /** Only a server that says so knows that there is nothing. */
  @Test
  void anObjectIsMissingWhereTheServerSaysSo() throws Exception {
    server.error("404 Not Found", "NoSuchKey");
    var missing = assertThrows(NoSuchFileException.class, () -> objects.get("k", 0, 1));
    assertEquals("s3://abc/k", missing.getFile());
    server.answer("404 Not Found", "<html>");
    assertThrows(RefusedException.class, () -> objects.get("k", 0, 1));
    server.error("404 Not Found", "NoSuchBucket");
    assertThrows(RefusedException.class, () -> objects.get("k", 0, 1));
  }

  private static String page(String what) {
    return "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"urn:s3\">%s</ListBucketResult>"
        .formatted(what);
  }

  private static String listed(String key) {
    return ("<Contents><Key>%s</Key><LastModified>2013-05-24T00:00:00.000Z</LastModified>"
            + "<Size>7</Size></Contents>")
        .formatted(key);
  }

  @Test
  void objectsAreListedByPages() throws Exception {
    server.answer(
        "200 OK",
        page(
            "<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
                + "<NextContinuationToken>a+b==</NextContinuationToken>"
                + listed("p/a+b%2Bc%25")
                + "<CommonPrefixes><Prefix>p/q/</Prefix></CommonPrefixes>"));
    Listing first = objects.list("p/", "", true);
    assertEquals(List.of(new Listed("p/a b+c%", 7, THEN)), first.objects());
    assertEquals(List.of("p/q/"), first.prefixes());
    assertEquals(
        "GET /abc?delimiter=%2F&encoding-type=url&list-type=2&max-keys=1000&prefix=p%2F HTTP/1.1",
        server.asked.get(0).first());

    server.answer("200 OK", page("<IsTruncated>false</IsTruncated>" + listed("p/%2B")));
    Listing second = objects.list("p/", first.continuation().get(), true);
    assertEquals(List.of(new Listed("p/%2B", 7, THEN)), second.objects());
    assertEquals(Optional.empty(), second.continuation());
    assertEquals(
        "GET /abc?continuation-token=a%2Bb%3D%3D&delimiter=%2F&encoding-type=url&list-type=2"
            + "&max-keys=1000&prefix=p%2F HTTP/1.1",
        server.asked.get(1).first());
  }

  /** What is missing from it would be taken for deleted. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "<html/>",
        "<ListBucketResult/>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>p</Key></Contents>"
            + "</ListBucketResult>",
        "<!DOCTYPE a><ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>",
        "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>q</Key>"
            + "<LastModified>2013-05-24T00:00:00.000Z</LastModified><Size>7</Size></Contents>"
            + "</ListBucketResult>",
        "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>p</Key>"
            + "<LastModified>never</LastModified><Size>7</Size></Contents></ListBucketResult>",
        "<Error><Code>InternalError</Code></Error>"
      })
  void whatIsNoWholePageIsNoAnswer(String page) {
    server.answer("200 OK", page);
    assertThrows(UnansweredException.class, () -> objects.list("p", "", false));
  }

  @Test
  void anObjectIsDeletedThoughThereIsNone() throws Exception {
    server.answer("204 No Content", "").answer("200 OK", "").error("404 No", "NoSuchKey");
    for (int i = 0; i < 3; i++) {
      objects.delete("k");
    }
    assertEquals("DELETE /abc/k HTTP/1.1", server.asked.get(0).first());
    server.error("404 No", "NoSuchBucket");
    assertThrows(RefusedException.class, () -> objects.delete("k"));
    server.error("200 OK", "InternalError").answer("503 Slow Down", "");
    assertThrows(UnansweredException.class, () -> objects.delete("k"));
    assertThrows(UnansweredException.class, () -> objects.delete("k"));
  }

  /** One line that says what, where and what to do; "@" stands for the server. */
  private void says(Class<? extends IOException> type, String line, Executable what) {
    var e = assertThrows(type, what);
    assertEquals(line.replace("@", "at " + server.address()), e.getMessage());
  }

  @Test
  void refusalsSayWhatToDo() {
    String put = "PUT s3://abc/k @: ";
    Executable putting = () -> objects.put("k", bytes("1"));
    server.error("403 No", "InvalidAccessKeyId");
    says(
        AccessDeniedException.class,
        put + "it knows no access key AKIA of a test; set another one, or check the endpoint",
        putting);
    server.error("403 No", "SignatureDoesNotMatch");
    says(
        AccessDeniedException.class,
        put
            + "the secret does not fit the access key AKIA of a test; set the secret that belongs"
            + " to it",
        putting);
    server.error("400 No", "ExpiredToken");
    says(
        AccessDeniedException.class,
        put
            + "the session of the access key AKIA of a test is over or unknown; get new credentials",
        putting);
    assertEquals(3, refusals.get(), "new ones are looked for");
    server.error("403 No", "AccessDenied");
    says(
        AccessDeniedException.class,
        put
            + "403 AccessDenied: Said so; the access key AKIA of a test needs the right"
            + " s3:PutObject",
        putting);
    server.error("403 No", "AccessDenied");
    says(
        AccessDeniedException.class,
        "LIST s3://abc/p @: 403 AccessDenied: Said so; the access key AKIA of a test needs the"
            + " right s3:ListBucket",
        () -> objects.list("p", "", false));
    server.error("404 No", "NoSuchBucket");
    says(
        RefusedException.class,
        put
            + "there is no bucket abc; make it, or check its name, the region us-east-1 and the"
            + " endpoint",
        putting);
    server.error("501 No", "NotImplemented");
    says(
        RefusedException.class,
        put + "501 NotImplemented: Said so; it does not do what Cinch asks, so take another server",
        putting);
    server.error("400 No", "InvalidArgument");
    says(RefusedException.class, put + "400 InvalidArgument: Said so", putting);
  }

  @Test
  void anotherRegionIsNamed() {
    Executable putting = () -> objects.put("k", bytes("1"));
    String there =
        "PUT s3://abc/k @: the bucket is in the region eu-west-1 and was asked for in us-east-1;"
            + " set AWS_REGION=eu-west-1";
    for (String status : new String[] {"301 Moved", "307 Moved", "400 No"}) {
      String code = status.startsWith("400") ? "AuthorizationHeaderMalformed" : "PermanentRedirect";
      server.error(status + "|x-amz-bucket-region: eu-west-1", code);
      says(RefusedException.class, there, putting);
    }
    server.answer(
        "400 No",
        "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>");
    says(RefusedException.class, there, putting);
    server.answer("307 Moved|Location: http://x/", "");
    says(
        RefusedException.class,
        "PUT s3://abc/k @: 307; it sends to another place to http://x/; give that as the endpoint",
        putting);
  }

  @Test
  void aClockThatIsOffIsToldByHowMuch() {
    for (int off : new int[] {-1_000, 2_000}) {
      var there = Instant.ofEpochSecond(time.wallNanos() / 1_000_000_000 - off);
      String date = DateTimeFormatter.RFC_1123_DATE_TIME.format(there.atZone(ZoneOffset.UTC));
      server.error("403 No|Date: " + date, "RequestTimeTooSkewed");
      says(
          AccessDeniedException.class,
          "PUT s3://abc/k @: this machine's clock is %,d s %s the server's; set it"
              .formatted(Math.abs(off), off > 0 ? "ahead of" : "behind"),
          () -> objects.put("k", bytes("1")));
    }
  }

  @Test
  void whoeverIsNotReachedIsNamed() throws Exception {
    String nowhere = nowhere();
    var e = assertThrows(UnansweredException.class, () -> objects(nowhere, PATIENT).get("k", 0, 1));
    assertEquals(
        "GET s3://abc/k at %s: can't connect; see whether the server runs and is reached from here"
            .formatted(nowhere),
        e.getMessage());
    server.raw(FakeS3.SILENCE);
    var late =
        assertThrows(
            UnansweredException.class, () -> objects(server.address(), HASTY).get("k", 0, 1));
    assertEquals(
        "GET s3://abc/k at %s: no answer in time; see whether the server runs and is reached from here"
            .formatted(server.address()),
        late.getMessage());
    assertInstanceOf(IOException.class, late.getCause());
  }

  /** What it trusts is named as for AWS's tools; to another server nothing is sent. */
  @Test
  void overTlsOnlyTheServersOfTheBundleAreAsked(@TempDir Path dir) throws Exception {
    Path keys = dir.resolve("keys.p12");
    keytool(keys, "-genkeypair", "-keyalg", "EC", "-dname", "CN=x", "-ext", "san=ip:127.0.0.1");
    Path pem = dir.resolve("ca.pem");
    keytool(keys, "-exportcert", "-rfc", "-file", pem.toString());
    var own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    own.init(KeyStore.getInstance(keys.toFile(), "secret".toCharArray()), "secret".toCharArray());
    SSLContext tls = SSLContext.getInstance("TLS");
    tls.init(own.getKeyManagers(), null, null);
    var listening =
        tls.getServerSocketFactory().createServerSocket(0, 10, InetAddress.getLoopbackAddress());
    try (var https = new FakeS3(listening)) {
      https.answer("200 OK", "");
      var address = ObjectAddress.parse("s3://abc/x?endpoint=" + https.address());
      var variables = new TreeMap<>(Map.of("AWS_ACCESS_KEY_ID", "k", "AWS_SECRET_ACCESS_KEY", "s"));
      S3Objects distrusting = S3Objects.at(address, new Environment(variables, dir), time);
      var e = assertThrows(UnansweredException.class, () -> distrusting.get("k", 0, 1));
      assertTrue(e.getMessage().contains("AWS_CA_BUNDLE"), e.getMessage());
      assertEquals(List.of(), https.asked);
      variables.put("AWS_CA_BUNDLE", pem.toString());
      assertTrue(S3Objects.at(address, new Environment(variables, dir), time).put("k", bytes("1")));
      variables.put("AWS_CA_BUNDLE", keys.toString());
      var none =
          assertThrows(
              IOException.class,
              () -> S3Objects.at(address, new Environment(variables, dir), time));
      assertTrue(none.getMessage().startsWith(keys + " holds"), none.getMessage());
    }
  }

  private static void keytool(Path keys, String... what) throws Exception {
    String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
    var command = new ProcessBuilder(keytool);
    command.command().addAll(List.of(what));
    command
        .command()
        .addAll(List.of("-alias", "x", "-storepass", "secret", "-keystore", keys.toString()));
    assertEquals(0, command.inheritIO().start().waitFor());
  }
}
