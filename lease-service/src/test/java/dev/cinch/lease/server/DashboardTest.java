package dev.cinch.lease.server;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.access.Access;
import dev.cinch.lease.access.TokenFile;
import dev.cinch.lease.instance.Rig;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The dashboard's files, and who may have them. {@code .ci/dashboard} looks at them in a browser.
 */
@Timeout(60)
final class DashboardTest {
  /** By their paths, what they are. */
  private static final Map<String, String> FILES =
      Map.of(
          "/", "text/html; charset=utf-8",
          "/style.css", "text/css; charset=utf-8",
          "/dashboard.js", "text/javascript; charset=utf-8",
          "/icon.svg", "image/svg+xml");

  private static final String POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self';"
          + " base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
          + " require-trusted-types-for 'script'";

  private static final String LINK =
      "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document";

  @TempDir private static Path directory;
  private static LeaseServer server;

  @BeforeAll
  static void start() throws IOException {
    var rig = new Rig();
    server =
        LeaseServer.builder(rig.service, rig.service::info)
            .access(Access.of(new TokenFile(directory.resolve("tokens")), false, rig.time))
            .port(0)
            .start();
  }

  @AfterAll
  static void stop() throws IOException {
    server.close();
  }

  private static RawClient ask(String method, String path, String host, String... headers)
      throws IOException {
    String more = headers.length == 0 ? "" : String.join("\r\n", headers) + "\r\n";
    var client = new RawClient(server.port());
    return client.send(method + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + more + "\r\n");
  }

  private static int status(String method, String path, String host, String... headers)
      throws IOException {
    try (RawClient client = ask(method, path, host, headers)) {
      return client.headers().status();
    }
  }

  /** Also where the API wants a token. */
  @Test
  void everybodyMayHaveThem() throws Exception {
    for (Map.Entry<String, String> file : FILES.entrySet()) {
      RawClient.Response whole;
      try (RawClient client = ask("GET", file.getKey(), "127.0.0.1")) {
        whole = client.response();
      }
      assertEquals(200, whole.status(), file.getKey());
      assertTrue(whole.body().length() > 100, file.getKey());
      Map<String, String> headers = whole.headers();
      assertEquals(file.getValue(), headers.get("content-type"));
      assertEquals(POLICY, headers.get("content-security-policy"));
      assertEquals("nosniff", headers.get("x-content-type-options"));
      assertEquals("no-referrer", headers.get("referrer-policy"));
      assertEquals("no-cache", headers.get("cache-control"));
      try (RawClient client = ask("HEAD", file.getKey(), "127.0.0.1")) {
        assertEquals(headers, client.headers().headers());
        assertEquals(200, client.get("/healthz").status()); // nothing of a body came before it
      }
    }
  }

  @Test
  void aBrowserThatHasAFileIsNotSentItAgain() throws Exception {
    var tags = new TreeSet<String>();
    for (String path : FILES.keySet()) {
      String tag;
      try (RawClient client = ask("GET", path, "127.0.0.1", "If-None-Match: \"another\"")) {
        RawClient.Response whole = client.response();
        assertEquals(200, whole.status());
        tag = whole.headers().get("etag");
        tags.add(tag);
      }
      for (String has : Set.of(tag, "\"x\", W/" + tag)) {
        try (RawClient client = ask("GET", path, "127.0.0.1", "If-None-Match: " + has)) {
          RawClient.Response same = client.headers();
          assertEquals(304, same.status());
          assertEquals(tag, same.headers().get("etag"));
          assertEquals(200, client.get("/healthz").status());
        }
      }
    }
    assertEquals(FILES.size(), tags.size(), "others have other tags");
  }

  @Test
  void theyAreReadAlone() throws Exception {
    for (String path : FILES.keySet()) {
      for (String method : Set.of("POST", "PUT", "DELETE", "OPTIONS")) {
        try (RawClient client = ask(method, path, "127.0.0.1", "Content-Length: 0")) {
          RawClient.Response response = client.response();
          assertEquals(405, response.status(), method + path);
          assertEquals("GET, HEAD", response.headers().get("allow"));
        }
      }
    }
    assertEquals(404, status("GET", "/index.html", "127.0.0.1"));
    assertEquals(404, status("GET", "/dashboard/../style.css", "127.0.0.1"));
  }

  /** A page whose name leads here would have this origin, and be asked for a token. */
  @Test
  void underAnothersNameThereIsNone() throws Exception {
    for (String path : FILES.keySet()) {
      assertEquals(403, status("GET", path, "evil.example"));
      assertEquals(403, status("GET", path, "evil.example", LINK));
      assertEquals(403, status("GET", path, "127.0.0.1", "Origin: https://evil.example"));
    }
  }

  @Test
  void aLinkOfAnotherPageLeadsToThePageAlone() throws Exception {
    assertEquals(200, status("GET", "/", "127.0.0.1", LINK));
    assertEquals(200, status("HEAD", "/", "127.0.0.1", LINK));
    assertEquals(200, status("GET", "/?from=wiki", "127.0.0.1", LINK));
    assertEquals(403, status("POST", "/", "127.0.0.1", LINK, "Content-Length: 0"));
    for (String other :
        Set.of("/style.css", "/dashboard.js", "/icon.svg", "/v1/leases", "/healthz")) {
      assertEquals(403, status("GET", other, "127.0.0.1", LINK), other);
    }
    for (String spoiled :
        Set.of(
            LINK.replace("navigate", "no-cors"),
            LINK.replace("document", "iframe"),
            LINK.replace("document", "empty"),
            "Sec-Fetch-Site: cross-site",
            LINK + "\r\nSec-Fetch-Dest: document")) {
      assertEquals(403, status("GET", "/", "127.0.0.1", spoiled), spoiled);
    }
  }

  /** What the policy would stop is not there: no script or style within, nothing from elsewhere. */
  @Test
  void thePageNamesItsOwnFilesAlone() throws Exception {
    String page = new String(Dashboard.file("/").body(), UTF_8);
    for (String inline : Set.of("<style", "style=", " on[a-z]+=", "javascript:", "//", "<base")) {
      assertFalse(Pattern.compile(inline).matcher(page).find(), inline);
    }
    var named = new TreeSet<String>();
    Pattern.compile("(?:src|href)=\"([^\"]*)\"")
        .matcher(page)
        .results()
        .forEach(m -> named.add("/" + m.group(1)));
    named.add("/");
    assertEquals(new TreeSet<>(FILES.keySet()), named);
    String script = new String(Dashboard.file("/dashboard.js").body(), UTF_8);
    for (String risky :
        Set.of(
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval",
            "localStorage",
            "http")) {
      assertFalse(script.contains(risky), risky);
    }
  }
}
