package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.Message.Accept;
import dev.cinch.lease.cell.Message.Accepted;
import dev.cinch.lease.cell.Message.Learn;
import dev.cinch.lease.cell.Message.Memory;
import dev.cinch.lease.cell.Message.Named;
import dev.cinch.lease.cell.Message.Names;
import dev.cinch.lease.cell.Message.Prepare;
import dev.cinch.lease.cell.Message.Promise;
import dev.cinch.lease.cell.Message.Query;
import dev.cinch.lease.cell.Message.Reject;
import dev.cinch.lease.cell.Message.Release;
import dev.cinch.lease.cell.Message.Told;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * A message as bytes; there is one encoding of each. Numbers are big-endian.
 *
 * <pre>
 * message: kind (1), length of the name, 1 to 255 (1), name, and by its kind:
 *   1 PREPARE   ballot
 *   2 PROMISE   ballot, pledge (8), memory
 *   3 ACCEPT    ballot, pledge (8), term (8), value
 *   4 ACCEPTED  ballot
 *   5 REJECT    ballot, promised: a ballot, memory
 *   6 RELEASE   first: a ballot, last: a ballot
 *   7 LEARN     ballot, nanos (8), value
 *   8 QUERY
 *   9 TOLD      memory
 *  10 NAMES     prefix: a value, token (8), limit, 1 to 65,535 (2)
 *  11 NAMED     token (8), from (4), end, 0 MORE, 1 ENOUGH, 2 ALL (1), names: a value
 * ballot:  counter, 0 to 2^62, 0 only with zeros (8), boot (4), node (4)
 * value:   length, 0 to 65,535 (2), bytes
 * memory:  state, 0 LIVE, 1 EXPIRED, 2 RELEASED, 3 FORGOTTEN (1), nanos (8), and unless it is
 *          FORGOTTEN: ballot, value
 * </pre>
 *
 * <p>Terms and nanos are 0 to 2<sup>62</sup>; a pledge is any number. Stateless.
 */
final class MessageCodec {
  static final int LONGEST_NAME = 255;
  static final int LONGEST_VALUE = 65_535;

  /** What the largest message has besides its value: REJECT with the longest name. */
  static final int LARGEST_WITHOUT_VALUE;

  private static final int BALLOT = 16;
  private static final int KIND_AND_LENGTH = 2;

  private static final int PREPARE = 1;
  private static final int PROMISE = 2;
  private static final int ACCEPT = 3;
  private static final int ACCEPTED = 4;
  private static final int REJECT = 5;
  private static final int RELEASE = 6;
  private static final int LEARN = 7;
  private static final int QUERY = 8;
  private static final int TOLD = 9;
  private static final int NAMES = 10;
  private static final int NAMED = 11;

  /** What NAMED has besides its names. */
  static final int NAMED_WITHOUT_NAMES = 2 + 1 + Long.BYTES + Integer.BYTES + 1 + Short.BYTES;

  private static final Memory.State[] STATES = Memory.State.values();
  private static final Named.End[] ENDS = Named.End.values();

  static {
    int memory = 1 + Long.BYTES + BALLOT + Short.BYTES;
    LARGEST_WITHOUT_VALUE = KIND_AND_LENGTH + LONGEST_NAME + 2 * BALLOT + memory;
  }

  private MessageCodec() {}

  /**
   * Writes a message of this node's machines, whose fields are in their ranges.
   *
   * @throws java.nio.BufferOverflowException if it does not fit
   */
  static void encode(Message message, ByteBuffer out) {
    if (message instanceof Prepare prepare) {
      put(out, PREPARE, prepare.name(), prepare.ballot());
    } else if (message instanceof Promise promise) {
      put(out, PROMISE, promise.name(), promise.ballot());
      out.putLong(promise.pledge());
      put(out, promise.memory());
    } else if (message instanceof Accept accept) {
      put(out, ACCEPT, accept.name(), accept.ballot());
      out.putLong(accept.pledge()).putLong(accept.term());
      put(out, accept.value());
    } else if (message instanceof Accepted accepted) {
      put(out, ACCEPTED, accepted.name(), accepted.ballot());
    } else if (message instanceof Reject reject) {
      put(out, REJECT, reject.name(), reject.ballot());
      put(out, reject.promised());
      put(out, reject.memory());
    } else if (message instanceof Release release) {
      put(out, RELEASE, release.name(), release.first());
      put(out, release.last());
    } else if (message instanceof Learn learn) {
      put(out, LEARN, learn.name(), learn.ballot());
      out.putLong(learn.nanos());
      put(out, learn.value());
    } else if (message instanceof Query query) {
      put(out, QUERY, query.name());
    } else if (message instanceof Told told) {
      put(out, TOLD, told.name());
      put(out, told.memory());
    } else if (message instanceof Names names) {
      put(out, NAMES, names.name());
      put(out, names.prefix());
      out.putLong(names.token()).putShort((short) names.limit());
    } else if (message instanceof Named named) {
      put(out, NAMED, named.name());
      out.putLong(named.token()).putInt(named.from()).put((byte) named.end().ordinal());
      put(out, named.names());
    }
  }

  private static void put(ByteBuffer out, int kind, Bytes name) {
    out.put((byte) kind).put((byte) name.size()).put(name.toArray());
  }

  private static void put(ByteBuffer out, int kind, Bytes name, Ballot ballot) {
    put(out, kind, name);
    put(out, ballot);
  }

  private static void put(ByteBuffer out, Ballot ballot) {
    out.putLong(ballot.counter()).putInt(ballot.boot()).putInt(ballot.node());
  }

  private static void put(ByteBuffer out, Bytes value) {
    out.putShort((short) value.size()).put(value.toArray());
  }

  private static void put(ByteBuffer out, Memory memory) {
    out.put((byte) memory.state().ordinal()).putLong(memory.nanos());
    if (memory.known()) {
      put(out, memory.ballot());
      put(out, memory.value());
    }
  }

  /**
   * Reads a message, behind which another one may stand.
   *
   * @return null if there is none that is well-formed; then the buffer's position means nothing
   */
  static @Nullable Message decode(ByteBuffer in) {
    var from = new In(in);
    int kind = from.oneByte();
    Bytes name = from.bytes(from.oneByte());
    if (name.size() == 0) {
      return null;
    }
    Message message =
        switch (kind) {
          case PREPARE -> new Prepare(name, from.ballot());
          case PROMISE -> new Promise(name, from.ballot(), from.anyLong(), from.memory());
          case ACCEPT ->
              new Accept(name, from.ballot(), from.anyLong(), from.nanos(), from.value());
          case ACCEPTED -> new Accepted(name, from.ballot());
          case REJECT -> new Reject(name, from.ballot(), from.ballot(), from.memory());
          case RELEASE -> new Release(name, from.ballot(), from.ballot());
          case LEARN -> new Learn(name, from.ballot(), from.nanos(), from.value());
          case QUERY -> new Query(name);
          case TOLD -> new Told(name, from.memory());
          case NAMES -> new Names(name, from.value(), from.anyLong(), from.limit());
          case NAMED -> new Named(name, from.anyLong(), from.count(), from.end(), from.value());
          default -> null;
        };
    return from.bad ? null : message;
  }

  /** Reads fields; of those that are malformed it gives any value, and remembers that. */
  private static final class In {
    private final ByteBuffer in;
    private boolean bad;

    In(ByteBuffer in) {
      this.in = in;
    }

    private boolean has(int count) {
      bad |= in.remaining() < count;
      return !bad;
    }

    int oneByte() {
      return has(1) ? in.get() & 0xFF : 0;
    }

    long anyLong() {
      return has(Long.BYTES) ? in.getLong() : 0;
    }

    long nanos() {
      long nanos = anyLong();
      bad |= nanos < 0 || nanos > Ballot.MAX_COUNTER;
      return nanos;
    }

    Bytes bytes(int count) {
      if (count == 0 || !has(count)) {
        return Bytes.EMPTY;
      }
      var bytes = new byte[count];
      in.get(bytes);
      return Bytes.of(bytes);
    }

    Bytes value() {
      return bytes(has(Short.BYTES) ? in.getShort() & 0xFFFF : 0);
    }

    int limit() {
      int limit = has(Short.BYTES) ? in.getShort() & 0xFFFF : 0;
      bad |= limit == 0;
      return limit;
    }

    int count() {
      int count = has(Integer.BYTES) ? in.getInt() : 0;
      bad |= count < 0;
      return count;
    }

    Named.End end() {
      int end = oneByte();
      bad |= end >= ENDS.length;
      return bad ? Named.End.ALL : ENDS[end];
    }

    Ballot ballot() {
      if (!has(BALLOT)) {
        return Ballot.NONE;
      }
      long counter = in.getLong();
      int boot = in.getInt();
      int node = in.getInt();
      bad |=
          counter < 0 || counter > Ballot.MAX_COUNTER || (counter == 0 && (boot != 0 || node != 0));
      return bad || counter == 0 ? Ballot.NONE : new Ballot(counter, boot, node);
    }

    Memory memory() {
      int state = oneByte();
      long nanos = nanos();
      bad |= state >= STATES.length;
      if (bad || STATES[state] == Memory.State.FORGOTTEN) {
        return Memory.forgotten(nanos);
      }
      Ballot ballot = ballot();
      bad |= ballot.counter() == 0;
      return new Memory(STATES[state], ballot, value(), nanos);
    }
  }
}
