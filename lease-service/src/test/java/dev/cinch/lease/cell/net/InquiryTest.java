package dev.cinch.lease.cell.net;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message.Memory;
import org.junit.jupiter.api.Test;

/** What is made of the answers of acceptors to a question. */
final class InquiryTest {
  private static final Bytes NAME = Bytes.of("a");

  /** One that did not hear of the end may keep it for as long as a change may take. */
  @Test
  void p6_theLastLeaseSaysMoreThanAnEarlierOneThatIsTakenForLive() {
    var inquiry = new Questions.Inquiry(NAME, 1L << 60);
    var earlier = new Memory(Memory.State.LIVE, new Ballot(7, 1, 1), Bytes.of("earlier"), 1);
    var last = new Memory(Memory.State.RELEASED, new Ballot(8, 1, 2), Bytes.of("last"), 0);
    assertEquals(1, inquiry.add(3, earlier));
    assertEquals(2, inquiry.add(2, last));
    inquiry.complete(true);
    assertEquals(last, inquiry.result.join().orElseThrow());
  }
}
