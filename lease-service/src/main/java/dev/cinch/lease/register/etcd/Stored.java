package dev.cinch.lease.register.etcd;

import com.fasterxml.jackson.databind.JsonNode;
import dev.cinch.lease.register.StateRegister.Found;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Optional;

/**
 * A key's value as etcd has it.
 *
 * @param value empty if the key is not there
 * @param revision of the last change of the key; 0 if it is not there
 */
record Stored(Optional<byte[]> value, long revision) {
  static final Stored ABSENT = new Stored(Optional.empty(), 0);

  /** The only value in an answer of a range. */
  static Stored single(JsonNode range) {
    JsonNode first = range.path("kvs").path(0);
    return first.isMissingNode() ? ABSENT : of(first);
  }

  private static Stored of(JsonNode kv) {
    return new Stored(Optional.of(value(kv)), kv.path("mod_revision").asLong());
  }

  /** The value of a pair of an answer; the gateway leaves out what is empty. */
  static byte[] value(JsonNode kv) {
    return bytes(kv.path("value"));
  }

  static byte[] bytes(JsonNode base64) {
    try {
      return base64.isMissingNode() ? new byte[0] : base64.binaryValue();
    } catch (IOException e) {
      throw new UncheckedIOException("etcd's answer has a value that is not base64", e);
    }
  }

  /**
   * As registers say it.
   *
   * @param keepNanos for so long etcd keeps what was written, at the least
   */
  Found found(long keepNanos) {
    return value.isPresent() ? new Found(value, true, 0) : new Found(value, false, keepNanos);
  }
}
