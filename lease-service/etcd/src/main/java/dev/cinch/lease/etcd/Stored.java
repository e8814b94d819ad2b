package dev.cinch.lease.etcd;

import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.RangeResponse;
import java.util.Optional;

/**
 * A key's value as etcd has it.
 *
 * @param value empty if the key is not there
 * @param revision of the last change of the key; 0 if it is not there
 */
record Stored(Optional<byte[]> value, long revision) {
  /** The only value in an answer. */
  static Stored single(RangeResponse answer) {
    if (answer.getKvsCount() == 0) {
      return new Stored(Optional.empty(), 0);
    }
    KeyValue pair = answer.getKvs(0);
    return new Stored(Optional.of(pair.getValue().toByteArray()), pair.getModRevision());
  }
}
