package dev.cinch.lease.register.etcd;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseName;

/**
 * Names as keys of etcd, below a prefix, and the requests about them. The gateway has protobuf's
 * JSON: bytes in base64, and what is 0, false or empty left out. Immutable.
 */
@CheckReturnValue
final class Keys {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private final String prefix;

  /**
   * @param prefix of all keys
   * @throws IllegalArgumentException unless it is 1 to 1,000 characters of printable ASCII
   */
  Keys(String prefix) {
    if (prefix.isEmpty()
        || prefix.length() > 1_000
        || !prefix.chars().allMatch(c -> c > ' ' && c < 0x7F)) {
      throw new IllegalArgumentException(
          "the prefix of etcd's keys is 1 to 1,000 characters of ASCII without spaces");
    }
    this.prefix = prefix.endsWith("/") ? prefix : prefix + "/";
  }

  /** The name that a key is of. */
  String name(JsonNode kv) {
    return new String(Stored.bytes(kv.path("key")), US_ASCII).substring(prefix.length());
  }

  private static byte[] bytes(String key) {
    return key.getBytes(US_ASCII);
  }

  private byte[] key(LeaseName name) {
    return bytes(prefix + name);
  }

  /** Behind all keys that begin so. */
  private static byte[] end(String prefix) {
    byte[] end = bytes(prefix);
    end[end.length - 1]++; // ASCII, so it has room
    return end;
  }

  /** Asks for the last value. */
  ObjectNode range(LeaseName name) {
    return JSON.objectNode().put("key", key(name));
  }

  /** Asks for the next names, and their last values. */
  ObjectNode page(String prefixOfNames, String after, int limit) {
    String from = prefix + prefixOfNames;
    String behind = prefix + after + '\0';
    return JSON.objectNode()
        .put("key", bytes(from.compareTo(behind) > 0 ? from : behind))
        .put("range_end", end(from))
        .put("limit", Integer.toString(limit));
  }

  /** Asks how many names there are. */
  ObjectNode count() {
    return JSON.objectNode()
        .put("key", bytes(prefix))
        .put("range_end", end(prefix))
        .put("count_only", true);
  }

  /** Puts a value if the last one is still there; asks for the last one otherwise. */
  ObjectNode replace(LeaseName name, long revision, byte[] value, String lease) {
    byte[] key = key(name);
    ObjectNode txn = JSON.objectNode();
    txn.putArray("compare")
        .addObject()
        .put("key", key)
        .put("target", "MOD")
        .put("result", "EQUAL")
        .put("mod_revision", Long.toString(revision));
    txn.putArray("success")
        .addObject()
        .putObject("request_put")
        .put("key", key)
        .put("value", value)
        .put("lease", lease);
    txn.putArray("failure").addObject().putObject("request_range").put("key", key);
    return txn;
  }

  /** Asks for all puts from a revision on; 0 for those from now on. */
  ObjectNode watch(long revision) {
    ObjectNode request = JSON.objectNode();
    request
        .putObject("create_request")
        .put("key", bytes(prefix))
        .put("range_end", end(prefix))
        .put("start_revision", Long.toString(revision))
        .put("fragment", true)
        .putArray("filters")
        .add("NODELETE");
    return request;
  }

  static ObjectNode grant(long seconds) {
    return JSON.objectNode().put("TTL", Long.toString(seconds));
  }
}
