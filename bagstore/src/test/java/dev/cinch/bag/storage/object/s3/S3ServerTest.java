package dev.cinch.bag.storage.object.s3;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.storage.object.ObjectAddress;
import dev.cinch.bag.storage.object.Objects.Got;
import dev.cinch.bag.storage.object.Objects.Listed;
import dev.cinch.bag.storage.object.Objects.Listing;
import dev.cinch.bag.storage.object.RefusedException;
import dev.cinch.lease.http.HttpConnections.Patience;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/**
 * A real server: {@code examples/objects/s3proxy.sh} starts one, and {@code CINCH_TEST_S3} names a
 * bucket there. What it makes is below a name of its own.
 */
@Timeout(600)
@EnabledIfEnvironmentVariable(named = "CINCH_TEST_S3", matches = ".+")
class S3ServerTest {
  private static final int AT_ONCE = 64;
  private static final Patience PATIENCE =
      new Patience(Duration.ofSeconds(10), Duration.ofMinutes(1));

  private final Environment environment = Environment.ofProcess();
  private final Credentials.Source credentials =
      new CredentialChain(environment, SystemTime.INSTANCE);
  private final String below = "test-" + UUID.randomUUID() + "/";
  private final S3Objects objects;

  S3ServerTest() throws IOException {
    objects = objects(environment.get("CINCH_TEST_S3").orElseThrow(), credentials);
  }

  private S3Objects objects(String bucket, Credentials.Source by) throws IOException {
    var there = S3Bucket.of(ObjectAddress.parse("s3://" + bucket), environment);
    return new S3Objects(there, by, SystemTime.INSTANCE, PATIENCE, AT_ONCE);
  }

  private List<Listing> pages(String prefix, String after, boolean places) throws IOException {
    var pages = new ArrayList<Listing>();
    Optional<String> next = Optional.of(after);
    while (next.isPresent()) {
      Listing page = objects.list(prefix, next.get(), places);
      pages.add(page);
      next = page.continuation();
    }
    return pages;
  }

  private static List<String> keys(List<Listing> pages) {
    return pages.stream().flatMap(p -> p.objects().stream()).map(Listed::key).toList();
  }

  @AfterEach
  void clean() throws IOException {
    for (String key : keys(pages(below, "", false))) {
      objects.delete(key);
    }
    assertEquals(List.of(), keys(pages(below, "", false)));
  }

  private static ByteBuffer bytes(String text) {
    return ByteBuffer.wrap(text.getBytes(UTF_8));
  }

  private static String text(Got got) {
    return new String(got.bytes(), UTF_8);
  }

  @Test
  void theFirstPutWins() throws Exception {
    String key = below + "a b+c%é/d";
    assertTrue(objects.put(key, bytes("01234"), bytes("56789")));
    assertFalse(objects.put(key, bytes("x")));
    Got whole = objects.get(key, 0, Integer.MAX_VALUE);
    assertEquals("0123456789", text(whole));
    assertEquals(10, whole.size());
    assertEquals("234", text(objects.get(key, 2, 3)));
    assertEquals("89", text(objects.get(key, 8, 100)));
    assertEquals("0123456789", text(objects.get(key, 0, 10)));
    for (long beyond : new long[] {10, 11, 1_000_000}) {
      assertEquals(new Size("", 10), Size.of(objects.get(key, beyond, 5)));
    }
    Listed listed = objects.list(key, "", false).objects().get(0);
    assertEquals(key, listed.key());
    assertEquals(10, listed.size());
    assertEquals(whole.changedAt() / 1_000_000_000, listed.changedAt() / 1_000_000_000);
    objects.delete(key);
    objects.delete(key);
    assertThrows(NoSuchFileException.class, () -> objects.get(key, 0, 10));
  }

  private record Size(String text, long size) {
    static Size of(Got got) {
      return new Size(S3ServerTest.text(got), got.size());
    }
  }

  @Test
  void emptyObjectsAreObjects() throws Exception {
    assertTrue(objects.put(below + "empty"));
    assertEquals(new Size("", 0), Size.of(objects.get(below + "empty", 0, 10)));
    assertEquals(new Size("", 0), Size.of(objects.get(below + "empty", 0, Integer.MAX_VALUE)));
    assertEquals(new Size("", 0), Size.of(objects.get(below + "empty", 3, 10)));
  }

  @Test
  void largeObjectsAreReadByParts() throws Exception {
    byte[] large = "0123456789".repeat(100_000).getBytes(UTF_8);
    assertTrue(objects.put(below + "large", ByteBuffer.wrap(large)));
    assertEquals("90123", text(objects.get(below + "large", 499_999, 5)));
    assertEquals(1_000_000, objects.get(below + "large", 0, Integer.MAX_VALUE).bytes().length);
  }

  private <T> List<T> atOnce(int count, Work<T> work) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(AT_ONCE);
    try {
      List<Callable<T>> all =
          IntStream.range(0, count).<Callable<T>>mapToObj(i -> () -> work.run(i)).toList();
      var done = new ArrayList<T>();
      for (var future : threads.invokeAll(all)) {
        done.add(future.get());
      }
      return done;
    } finally {
      threads.shutdown();
    }
  }

  private interface Work<T> {
    T run(int number) throws Exception;
  }

  @Test
  void listingsHaveAllInOrder() throws Exception {
    List<String> keys =
        IntStream.range(0, 1_100)
            .mapToObj(i -> "%sp/%02d/%02d".formatted(below, i / 100, i % 100))
            .toList();
    assertFalse(atOnce(1_100, i -> objects.put(keys.get(i), bytes("x"))).contains(false));
    assertTrue(objects.put(below + "z", bytes("x")));

    List<Listing> all = pages(below + "p/", "", false);
    assertTrue(all.size() >= 2);
    assertEquals(keys, keys(all));
    assertEquals(keys.subList(51, 1_100), keys(pages(below + "p/", keys.get(50), false)));
    Listing top = objects.list(below, "", true);
    assertEquals(List.of(below + "p/"), top.prefixes());
    assertEquals(List.of(below + "z"), keys(List.of(top)));
    Listing places = objects.list(below + "p/", "", true);
    assertEquals(11, places.prefixes().size());
    assertEquals(below + "p/00/", places.prefixes().get(0));
    boolean unused = atOnce(1_100, i -> delete(keys.get(i))).isEmpty();
  }

  private boolean delete(String key) throws IOException {
    objects.delete(key);
    return true;
  }

  /** Whoever is told so; and nobody is told so wrongly. */
  @Test
  void oneOfManyWritersWins() throws Exception {
    for (int round = 0; round < 20; round++) {
      String key = below + round;
      List<Boolean> made = atOnce(32, i -> objects.put(key, bytes("writer " + i)));
      String there = text(objects.get(key, 0, 100));
      for (int i = 0; i < made.size(); i++) {
        assertTrue(!made.get(i) || there.equals("writer " + i), there + " and " + i);
      }
      assertTrue(made.contains(true));
    }
  }

  @Test
  void refusalsAreToldApart() throws Exception {
    Credentials good = credentials.current();
    var wrong =
        new Credentials(good.keyId(), "wrong", Optional.empty(), Long.MAX_VALUE, "this test");
    var unknown = new Credentials("nobody", "x", Optional.empty(), Long.MAX_VALUE, "this test");
    String bucket = environment.get("CINCH_TEST_S3").orElseThrow();
    for (Credentials by : List.of(wrong, unknown)) {
      S3Objects theirs = objects(bucket, () -> by);
      var e = assertThrows(AccessDeniedException.class, () -> theirs.put(below + "x", bytes("1")));
      System.out.println(e.getMessage());
      assertThrows(AccessDeniedException.class, () -> theirs.get(below + "x", 0, 1));
      assertThrows(AccessDeniedException.class, () -> theirs.list(below, "", false));
      assertThrows(AccessDeniedException.class, () -> theirs.delete(below + "x"));
    }
    S3Objects nowhere = objects("no-such-bucket-of-cinch", credentials);
    var e = assertThrows(RefusedException.class, () -> nowhere.put("x", bytes("1")));
    System.out.println(e.getMessage());
    assertThrows(RefusedException.class, () -> nowhere.get("x", 0, 1));
    assertThrows(RefusedException.class, () -> nowhere.list("", "", false));
  }

  @Test
  void aClockThatIsOffIsTold() throws Exception {
    String bucket = environment.get("CINCH_TEST_S3").orElseThrow();
    var there = S3Bucket.of(ObjectAddress.parse("s3://" + bucket), environment);
    var off = new SystemTime(-Duration.ofHours(2).toNanos());
    var late = new S3Objects(there, credentials, off, PATIENCE, 1);
    var e = assertThrows(AccessDeniedException.class, () -> late.put(below + "x", bytes("1")));
    System.out.println(e.getMessage());
  }
}
