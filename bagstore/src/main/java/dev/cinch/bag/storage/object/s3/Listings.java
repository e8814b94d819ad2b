package dev.cinch.bag.storage.object.s3;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.storage.object.Objects.Listed;
import dev.cinch.bag.storage.object.Objects.Listing;
import dev.cinch.lease.IsoTime;
import java.io.IOException;
import java.net.URLDecoder;
import java.util.ArrayList;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** What ListObjectsV2 asks and answers. */
@CheckReturnValue
final class Listings {
  private Listings() {}

  /** The query of an address. */
  static String query(String prefix, String after, boolean places) {
    var query = new StringBuilder();
    if (!after.isEmpty()) {
      query.append("continuation-token=").append(encode(after)).append('&');
    }
    query.append(places ? "delimiter=%2F&" : "");
    query.append("encoding-type=url&list-type=2&max-keys=1000&prefix=").append(encode(prefix));
    return query.toString();
  }

  private static String encode(String text) {
    return Signer.encode(text, false);
  }

  /**
   * Reads a page.
   *
   * @throws IOException if it is none, or has something else than what was asked for
   */
  static Listing read(byte[] document, String prefix) throws IOException {
    Xml page = Xml.read(document);
    if (!page.name().equals("ListBucketResult")) {
      throw new IOException("the answer is no listing");
    }
    boolean encoded = page.get("EncodingType").filter("url"::equals).isPresent();
    UnaryOperator<String> decode = key -> encoded ? URLDecoder.decode(key, UTF_8) : key;
    var objects = new ArrayList<Listed>();
    var prefixes = new ArrayList<String>();
    try {
      for (Xml object : page.all("Contents")) {
        objects.add(
            new Listed(
                below(prefix, decode.apply(get(object, "Key"))),
                Long.parseLong(get(object, "Size")),
                IsoTime.nanos(get(object, "LastModified"))));
      }
      for (Xml place : page.all("CommonPrefixes")) {
        prefixes.add(below(prefix, decode.apply(get(place, "Prefix"))));
      }
    } catch (IllegalArgumentException e) {
      throw new IOException("the listing has a key, a size or a time that is none", e);
    }
    Optional<String> continuation = Optional.empty();
    if (Boolean.parseBoolean(get(page, "IsTruncated"))) {
      continuation = Optional.of(get(page, "NextContinuationToken"));
    }
    return new Listing(objects, prefixes, continuation);
  }

  /** What is missing would be taken for the end, or for something that is not there. */
  private static String get(Xml of, String child) throws IOException {
    return of.get(child).orElseThrow(() -> new IOException("the listing has no " + child));
  }

  private static String below(String prefix, String key) throws IOException {
    if (!key.startsWith(prefix)) {
      throw new IOException("the listing has a key that was not asked for");
    }
    return key;
  }
}
