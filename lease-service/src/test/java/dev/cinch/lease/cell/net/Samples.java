package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.Message.Memory;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;

/** A message of each kind, with the fields at both ends of their ranges. */
final class Samples {
  private static final Bytes NAME = Bytes.of("name");
  private static final Bytes LONG_NAME = Bytes.of("n".repeat(255));
  private static final Bytes VALUE = Bytes.of("value");
  private static final Ballot LOW = new Ballot(1, 2, 3);
  private static final Ballot HIGH = new Ballot(Ballot.MAX_COUNTER, Integer.MAX_VALUE, -1);
  private static final Memory LIVE = new Memory(Memory.State.LIVE, LOW, VALUE, 77);
  private static final Memory EXPIRED =
      new Memory(Memory.State.EXPIRED, HIGH, Bytes.EMPTY, Ballot.MAX_COUNTER);
  private static final Memory RELEASED = new Memory(Memory.State.RELEASED, LOW, VALUE, 0);

  static final List<Message> MESSAGES =
      List.of(
          new Message.Prepare(NAME, LOW),
          new Message.Prepare(LONG_NAME, HIGH),
          new Message.Promise(NAME, LOW, -1, Memory.forgotten(5)),
          new Message.Promise(NAME, LOW, Long.MIN_VALUE, LIVE),
          new Message.Promise(NAME, LOW, Long.MAX_VALUE, EXPIRED),
          new Message.Accept(NAME, HIGH, 4, 1, VALUE),
          new Message.Accept(NAME, LOW, 4, Ballot.MAX_COUNTER, Bytes.EMPTY),
          new Message.Accepted(NAME, LOW),
          new Message.Reject(NAME, LOW, HIGH, RELEASED),
          new Message.Reject(LONG_NAME, LOW, Ballot.NONE, Memory.forgotten(0)),
          new Message.Release(NAME, LOW, HIGH),
          new Message.Learn(NAME, LOW, 0, Bytes.EMPTY),
          new Message.Learn(NAME, HIGH, 9, Bytes.of(new byte[65_535])),
          new Message.Query(NAME),
          new Message.Told(NAME, LIVE),
          new Message.Told(NAME, Memory.forgotten(Ballot.MAX_COUNTER)),
          new Message.Names(NAME, Bytes.EMPTY, -1, 1),
          new Message.Names(LONG_NAME, NAME, 7, 65_535),
          new Message.Named(NAME, 7, 0, Message.Named.End.ALL, Bytes.EMPTY),
          new Message.Named(NAME, -1, 99, Message.Named.End.MORE, VALUE));

  private Samples() {}

  /** A message as bytes. */
  static byte[] encoded(Message message) {
    ByteBuffer out = ByteBuffer.allocate(2 * MessageCodec.LONGEST_VALUE);
    MessageCodec.encode(message, out);
    return Arrays.copyOf(out.array(), out.position());
  }
}
