package dev.cinch.bag.storage.object.s3;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Sha256;
import dev.cinch.lease.http.Request;
import java.net.ConnectException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.HexFormat;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * Signs requests as AWS's Signature Version 4 has it for S3. All headers are signed, so nobody on
 * the way can take a condition off. Thread-safe.
 */
@CheckReturnValue
final class Signer {
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);
  private static final String ALGORITHM = "AWS4-HMAC-SHA256";
  private static final long SECOND = 1_000_000_000L;
  private static final String UNRESERVED = "-._~";

  private final String region;
  private volatile @Nullable Key last;

  /** The key of a day, which takes four hashes. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Key(String secret, String day, byte[] bytes) {}

  Signer(String region) {
    this.region = region;
  }

  /**
   * The headers with those that sign them.
   *
   * @param headers all that are sent but {@code Host}, with names in small letters
   * @param now nanoseconds since the Unix epoch
   */
  SortedMap<String, String> sign(
      Credentials by,
      String method,
      URI uri,
      Map<String, String> headers,
      ByteBuffer[] body,
      long now)
      throws ConnectException {
    String time = TIME.format(Instant.ofEpochSecond(Math.floorDiv(now, SECOND)));
    String day = time.substring(0, 8);
    String hash = hash(body);
    var all = new TreeMap<>(headers);
    all.put("x-amz-content-sha256", hash);
    all.put("x-amz-date", time);
    by.sessionToken().ifPresent(token -> all.put("x-amz-security-token", token));
    var signed = new TreeMap<>(all);
    signed.put("host", Request.host(uri));
    String names = String.join(";", signed.keySet());

    var canonical = new StringBuilder(method).append('\n');
    canonical.append(uri.getRawPath().isEmpty() ? "/" : uri.getRawPath()).append('\n');
    canonical.append(query(uri)).append('\n');
    for (var header : signed.entrySet()) {
      canonical.append(header.getKey()).append(':');
      canonical.append(once(header.getValue())).append('\n');
    }
    canonical.append('\n').append(names).append('\n').append(hash);

    String scope = day + "/" + region + "/s3/aws4_request";
    String hashed = hex(Sha256.of(canonical.toString().getBytes(UTF_8)));
    String text = String.join("\n", ALGORITHM, time, scope, hashed);
    String signature = hex(hmac(key(by.secret(), day), text));
    String credential = ALGORITHM + " Credential=" + by.keyId() + "/" + scope;
    all.put("authorization", credential + ",SignedHeaders=" + names + ",Signature=" + signature);
    return all;
  }

  /** A value with one space where it has more. */
  private static String once(String value) {
    return value.contains("  ") ? value.strip().replaceAll(" +", " ") : value.strip();
  }

  private static String query(URI uri) {
    if (uri.getRawQuery() == null) {
      return "";
    }
    var sorted = new TreeMap<String, String>();
    for (String part : uri.getRawQuery().split("&", -1)) {
      int equals = part.indexOf('=');
      String name = equals < 0 ? part : part.substring(0, equals);
      sorted.put(name, equals < 0 ? "" : part.substring(equals + 1));
    }
    var query = new StringBuilder();
    sorted.forEach(
        (name, value) ->
            query.append(query.isEmpty() ? "" : "&").append(name).append('=').append(value));
    return query.toString();
  }

  private static String hash(ByteBuffer[] body) {
    MessageDigest digest = Sha256.digest();
    for (ByteBuffer part : body) {
      digest.update(part.duplicate());
    }
    return hex(digest.digest());
  }

  private byte[] key(String secret, String day) {
    Key known = last;
    if (known == null || !known.secret().equals(secret) || !known.day().equals(day)) {
      byte[] bytes = ("AWS4" + secret).getBytes(UTF_8);
      for (String step : new String[] {day, region, "s3", "aws4_request"}) {
        bytes = hmac(bytes, step);
      }
      known = new Key(secret, day, bytes);
      last = known;
    }
    return known.bytes();
  }

  private static byte[] hmac(byte[] key, String text) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(key, "HmacSHA256"));
      return mac.doFinal(text.getBytes(UTF_8));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every Java platform has HmacSHA256", e);
    }
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  /**
   * Text as it stands in an address: all but letters, digits and four others is written by its
   * bytes.
   *
   * @param slashes whether they stay, as in a path
   */
  static String encode(String text, boolean slashes) {
    var encoded = new StringBuilder();
    for (byte b : text.getBytes(UTF_8)) {
      char c = (char) (b & 0xff);
      boolean plain =
          (c >= 'a' && c <= 'z')
              || (c >= 'A' && c <= 'Z')
              || (c >= '0' && c <= '9')
              || UNRESERVED.indexOf(c) >= 0
              || (slashes && c == '/');
      if (plain) {
        encoded.append(c);
      } else {
        encoded.append("%%%02X".formatted((int) c));
      }
    }
    return encoded.toString();
  }
}
