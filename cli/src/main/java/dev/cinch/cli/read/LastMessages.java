package dev.cinch.cli.read;

import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.lease.SignedWitness;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayDeque;
import java.util.List;

/** Keeps the last so many messages. Not thread-safe. */
final class LastMessages implements MessageSink {
  private final int most;
  private final ArrayDeque<Kept> kept = new ArrayDeque<>();

  LastMessages(int most) {
    this.most = most;
  }

  @Override
  public boolean accept(Message m) {
    if (most > 0) {
      if (kept.size() == most) {
        kept.removeFirst();
      }
      kept.addLast(
          new Kept(
              m.timestamp(),
              m.file(),
              m.position(),
              m.payload(),
              m.leases(),
              m.permitted(),
              m.settled()));
    }
    return true;
  }

  /** Hands them over, in order. */
  void to(MessageSink sink) throws IOException {
    for (Kept m : kept) {
      if (!sink.accept(m)) {
        return;
      }
    }
  }

  @SuppressWarnings("ArrayRecordComponent") // its own copy
  private record Kept(
      long timestamp,
      DataFileName file,
      long position,
      byte[] payload,
      List<SignedWitness> leases,
      boolean permitted,
      boolean settled)
      implements Message {
    @Override
    public int length() {
      return payload.length;
    }

    @Override
    public void writeTo(OutputStream out) throws IOException {
      out.write(payload);
    }
  }
}
