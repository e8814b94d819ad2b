package dev.cinch.lease.server;

import dev.cinch.lease.Sha256;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.HexFormat;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The dashboard: files of the jar that a browser shows. They are the same for everybody and say
 * nothing of any lease. The page's script asks the API for that, with the token that its user
 * gives. Thread-safe.
 */
final class Dashboard {
  /** The page's path, which links of other pages may lead to. */
  static final String PAGE = "/";

  /** Nothing but the files here runs, draws or is asked, and no other page has this one in it. */
  private static final String POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
          + " img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
          + " require-trusted-types-for 'script'";

  private static final Map<String, File> FILES =
      Map.of(
          PAGE,
          read("index.html", "text/html; charset=utf-8"),
          "/style.css",
          read("style.css", "text/css; charset=utf-8"),
          "/dashboard.js",
          read("dashboard.js", "text/javascript; charset=utf-8"),
          "/icon.svg",
          read("icon.svg", "image/svg+xml"));

  private Dashboard() {}

  /**
   * One of them.
   *
   * @param headers that every answer of it has
   */
  record File(byte[] body, String contentType, Map<String, String> headers) {
    private static final String TAG = "ETag";

    /** Whether a browser that sends this {@code If-None-Match} has it already. */
    boolean isKnown(@Nullable String tags) {
      return tags != null && tags.contains(String.valueOf(headers.get(TAG)));
    }
  }

  /** The file at a path; null if there is none. */
  static @Nullable File file(String path) {
    return FILES.get(path);
  }

  private static File read(String name, String contentType) {
    try (InputStream in = Dashboard.class.getResourceAsStream("dashboard/" + name)) {
      if (in == null) {
        throw new IllegalStateException("the jar lacks dashboard/" + name);
      }
      byte[] bytes = in.readAllBytes();
      String tag = '"' + HexFormat.of().formatHex(Sha256.of(bytes), 0, 8) + '"';
      return new File(
          bytes,
          contentType,
          Map.of(
              File.TAG,
              tag,
              "Cache-Control",
              "no-cache", // another version's page would not fit its script
              "Content-Security-Policy",
              POLICY,
              "Referrer-Policy",
              "no-referrer",
              "X-Content-Type-Options",
              "nosniff"));
    } catch (IOException e) {
      throw new UncheckedIOException("the jar can't be read", e);
    }
  }
}
