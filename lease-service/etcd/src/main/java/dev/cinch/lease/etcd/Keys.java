package dev.cinch.lease.etcd;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.google.errorprone.annotations.CheckReturnValue;
import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import dev.cinch.lease.LeaseName;
import io.etcd.jetcd.api.Compare;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.PutRequest;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.api.RequestOp;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.WatchCreateRequest;
import java.util.Optional;

/** Names as keys of etcd, below a prefix, and the requests about them. Immutable. */
@CheckReturnValue
final class Keys {
  /** Has a watch say much in several messages; jetcd's protobuf is of before etcd 3.4 here. */
  private static final UnknownFieldSet FRAGMENT =
      UnknownFieldSet.newBuilder()
          .addField(8, UnknownFieldSet.Field.newBuilder().addVarint(1).build())
          .build();

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
  String name(KeyValue pair) {
    return pair.getKey().toString(US_ASCII).substring(prefix.length());
  }

  private static ByteString bytes(String key) {
    return ByteString.copyFrom(key, US_ASCII);
  }

  private ByteString key(LeaseName name) {
    return bytes(prefix + name);
  }

  /** Behind all keys that begin so. */
  private static ByteString end(String prefix) {
    byte[] end = prefix.getBytes(US_ASCII);
    end[end.length - 1]++; // ASCII, so it has room
    return ByteString.copyFrom(end);
  }

  private RangeRequest.Builder below(String prefix) {
    return RangeRequest.newBuilder().setKey(bytes(prefix)).setRangeEnd(end(prefix));
  }

  /** Asks for the last value. */
  RangeRequest range(LeaseName name) {
    return RangeRequest.newBuilder().setKey(key(name)).build();
  }

  /** Asks for the next names, and their last values. */
  RangeRequest page(String prefixOfNames, String after, int limit) {
    String from = prefix + prefixOfNames;
    String behind = prefix + after + '\0';
    RangeRequest.Builder request = below(from).setLimit(limit);
    if (from.compareTo(behind) < 0) {
      request.setKey(bytes(behind));
    }
    return request.build();
  }

  /** Asks how many names there are. */
  RangeRequest count() {
    return below(prefix).setCountOnly(true).build();
  }

  /** Puts a value if the last one is still there; asks for the last one otherwise. */
  TxnRequest replace(LeaseName name, long revision, byte[] value, long lease) {
    ByteString key = key(name);
    return TxnRequest.newBuilder()
        .addCompare(
            Compare.newBuilder()
                .setKey(key)
                .setTarget(Compare.CompareTarget.MOD)
                .setResult(Compare.CompareResult.EQUAL)
                .setModRevision(revision))
        .addSuccess(
            RequestOp.newBuilder()
                .setRequestPut(
                    PutRequest.newBuilder()
                        .setKey(key)
                        .setValue(ByteString.copyFrom(value))
                        .setLease(lease)))
        .addFailure(RequestOp.newBuilder().setRequestRange(range(name)))
        .build();
  }

  /** Asks for all puts from a revision on; 0 for those from now on. */
  WatchCreateRequest watch(long revision) {
    return WatchCreateRequest.newBuilder()
        .setKey(bytes(prefix))
        .setRangeEnd(end(prefix))
        .setStartRevision(revision)
        .addFilters(WatchCreateRequest.FilterType.NODELETE)
        .setUnknownFields(FRAGMENT)
        .build();
  }

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
}
