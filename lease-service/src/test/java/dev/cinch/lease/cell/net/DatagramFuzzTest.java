package dev.cinch.lease.cell.net;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.cinch.fuzz.Edits;
import dev.cinch.fuzz.Hostile;
import dev.cinch.lease.cell.Message;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** Datagrams from anywhere, and what may stand in those of the cell's nodes. */
final class DatagramFuzzTest {
  private static final CellKey KEY = new CellKey(new byte[CellKey.BYTES]);
  private static final byte[] GOOD = good();

  private static byte[] good() {
    var link = new QueuedLink();
    Datagrams sender = node(1, 2, link);
    for (Message message : Samples.MESSAGES) {
      if (Samples.encoded(message).length < 200) {
        sender.add(2, message);
      }
    }
    sender.flush();
    return link.sent.get(0).bytes();
  }

  private static Datagrams node(int id, int other, QueuedLink link) {
    return new Datagrams(id, 1, List.of(other), KEY, Datagrams.LARGEST, link, () -> 0);
  }

  /** There is one encoding of a message. */
  @FuzzTest
  void message(byte[] data) {
    ByteBuffer in = ByteBuffer.wrap(data);
    Hostile.parse(data.length, () -> Optional.ofNullable(MessageCodec.decode(in.position(0))))
        .orElseThrow()
        .ifPresent(
            message -> {
              ByteBuffer out = ByteBuffer.allocate(Samples.encoded(message).length);
              MessageCodec.encode(message, out);
              assertArrayEquals(Arrays.copyOf(data, in.position()), out.array());
            });
  }

  /** Nothing that was altered is taken. */
  @FuzzTest
  void datagram(byte[] data) {
    byte[] altered = new Edits(data).of(GOOD);
    if (altered.length <= Datagrams.LARGEST) {
      List<Message> taken = new ArrayList<>();
      Datagrams receiver = node(2, 1, new QueuedLink());
      receiver.open(ByteBuffer.wrap(altered), 0, (from, message, now) -> taken.add(message));
      boolean same = Arrays.equals(altered, GOOD);
      assertEquals(same ? 0 : 1, receiver.traffic(0).dropped());
      assertEquals(same, !taken.isEmpty());
    }
  }
}
