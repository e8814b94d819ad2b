package dev.cinch.bag.storage.object;

import dev.cinch.bag.model.Name;
import dev.cinch.lease.HostPort;
import dev.cinch.lease.OneLine;
import java.net.URI;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Where a store is that an object store keeps: {@code s3://BUCKET/PREFIX}, and behind {@code
 * ?endpoint=} the server's address. Immutable.
 *
 * @param prefix of the store's keys; empty, or with a slash at its end
 * @param endpoint {@code http://} or {@code https://}; empty: as the environment says
 */
public record ObjectAddress(String bucket, String prefix, Optional<URI> endpoint) {
  private static final Pattern BUCKET = Pattern.compile("[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]");
  private static final Pattern PART = Pattern.compile("[A-Za-z0-9!_.*'()-]+");
  private static final String SCHEME = "s3://";
  private static final String ENDPOINT = "?endpoint=";

  /** The longest prefix: a key has 1,024 bytes, of which a store may need half. */
  private static final int LONGEST_PREFIX = 512;

  /**
   * @throws IllegalArgumentException if it is none; the message says why, in one line
   */
  public static ObjectAddress parse(String text) {
    int query = text.indexOf('?');
    String where = query < 0 ? text : text.substring(0, query);
    if (!where.startsWith(SCHEME) || (query >= 0 && !text.startsWith(ENDPOINT, query))) {
      throw wrong(text, "expected s3://BUCKET/PREFIX, or s3://BUCKET/PREFIX?endpoint=URL");
    }
    String[] parts = where.substring(SCHEME.length()).split("/", -1);
    if (!BUCKET.matcher(parts[0]).matches()) {
      throw wrong(
          text, "a bucket's name has 3 to 63 of a-z 0-9 . _ -, and a letter or digit at both ends");
    }
    var prefix = new StringBuilder();
    for (int i = 1; i < parts.length; i++) {
      boolean end = parts[i].isEmpty() && i == parts.length - 1;
      if (!end && (!PART.matcher(parts[i]).matches() || parts[i].matches("\\.{1,2}"))) {
        throw wrong(text, "the parts of a prefix have letters, digits and ! _ . * ' ( ) -");
      }
      prefix.append(end ? "" : parts[i] + "/");
    }
    if (prefix.length() > LONGEST_PREFIX) {
      throw wrong(text, "a prefix has at most " + LONGEST_PREFIX + " characters");
    }
    Optional<URI> endpoint =
        query < 0
            ? Optional.empty()
            : Optional.of(endpoint(text.substring(query + ENDPOINT.length())));
    return new ObjectAddress(parts[0], prefix.toString(), endpoint);
  }

  /**
   * The address of a server, without a slash at its end.
   *
   * @throws IllegalArgumentException if it is none
   */
  public static URI endpoint(String text) {
    Optional<URI> uri;
    try {
      uri = Optional.of(URI.create(text.replaceFirst("/+$", "")));
    } catch (IllegalArgumentException e) {
      uri = Optional.empty();
    }
    return uri.filter(ObjectAddress::isServer)
        .orElseThrow(() -> wrong(text, "an endpoint is like https://s3.example.com:9000"));
  }

  private static boolean isServer(URI uri) {
    return ("http".equals(uri.getScheme()) || "https".equals(uri.getScheme()))
        && HostPort.of(uri).isPresent()
        && uri.getRawQuery() == null
        && uri.getRawFragment() == null;
  }

  /** What names the store in all messages. */
  public Name root() {
    String all = SCHEME + bucket + "/" + prefix;
    return new Name(all.substring(0, all.length() - 1));
  }

  private static IllegalArgumentException wrong(String text, String why) {
    return new IllegalArgumentException(OneLine.of(text, 80) + ": " + why);
  }
}
