package dev.cinch.cli.serve;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Served;
import dev.cinch.lease.client.CellLook;
import dev.cinch.lease.client.Credentials;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever else answers at the address of the lease server is not taken for it. */
final class AnotherServiceTest {
  @TempDir private static Path temp;
  private static HttpServer other;
  private static String address;
  private static Path store;
  private static volatile int status;
  private static volatile String body = "";

  @BeforeAll
  static void start() throws IOException {
    other = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    other.createContext(
        "/",
        exchange -> {
          byte[] bytes = body.getBytes(UTF_8);
          exchange.getRequestBody().readAllBytes();
          exchange.sendResponseHeaders(status, bytes.length);
          exchange.getResponseBody().write(bytes);
          exchange.close();
        });
    other.start();
    address = "http://127.0.0.1:" + other.getAddress().getPort();
    store = Cinch.store(temp);
  }

  @AfterAll
  static void stop() {
    other.stop(0);
  }

  private static void answers(int code, String text) {
    status = code;
    body = text;
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"status\":\"UP\"}",
        "{}",
        "[]",
        "true",
        "{\"live\":\"true\"}",
        "{\"live\":false,\"ready\":true}",
        "{\"live\":true}",
        "{\"live\":true,\"ready\":\"yes\"}",
        "{\"live\":true,\"ready\":true}",
        "{\"live\":true,\"ready\":true,\"instance\":\"1\"}",
        "{\"live\":true,\"ready\":true,\"instance\":1}",
        "{\"live\":true,\"ready\":true,\"instance\":1.5,\"store\":7}"
      })
  void statusDoesNotSayThatItGrants(String text) {
    answers(200, text);
    Cinch.Ran ran = Cinch.on(store).run("status", "--server=" + address).ended(3);
    String start = "! the lease server at " + address + ": another service answers at " + address;
    assertTrue(ran.out().startsWith(start), ran.out());
  }

  @ParameterizedTest
  @ValueSource(ints = {200, 404, 503})
  void noCommandGoesByWhatItSays(int code) {
    answers(code, "{\"status\":\"UP\"}");
    Cinch cinch = Cinch.on(store).with("CINCH_SERVER", address);
    String grant = "CINCH_GRANT";
    String id = "000102030405060708090a0b0c0d0e0f";
    for (Cinch.Ran ran :
        List.of(
            cinch.run("lease", "acquire", "--for=5s", "a"),
            cinch.run("lease", "list"),
            cinch.run("lease", "show", "a"),
            cinch.run("lease", "revoke", "a", "--reason=r"),
            cinch.feed("x\n", "append", "--log=jobs", "--create", "--lease=a"),
            cinch.run("lease", "run", "a", "--", "true"),
            Cinch.on(store).with("CINCH_SERVER", address).with(grant, id).run("lease", "renew"),
            Cinch.on(store)
                .with("CINCH_SERVER", address)
                .with(grant, id)
                .run("lease", "release"))) {
      ran.failed(4, "another service answers at " + address);
    }
  }

  @Test
  void aNodeOfACellSaysAllThatIsAskedOfIt() throws Exception {
    for (String text :
        List.of(
            "{\"node\":1,\"instance\":1}",
            "{\"node\":1,\"instance\":1,\"quarantined\":false}",
            "{\"status\":\"UP\"}",
            "[]")) {
      answers(200, text);
      assertTrue(
          CellLook.ask(URI.create(address), Credentials.NONE, Duration.ofSeconds(5)).isEmpty(),
          text);
    }
  }

  /** A server may have left no address. */
  @Test
  void statusSaysThatNoServerGrantsWhereNoneCanBeAsked() throws Exception {
    try (var served = new Served(Files.createDirectory(temp.resolve("other")))) {
      Cinch.Ran ran = Cinch.on(served.store).run("status").ended(3);
      assertTrue(
          ran.out().lines().findFirst().orElse("").contains("no server is known to grant"),
          ran.out());
    }
  }
}
