package dev.cinch.cli.read;

import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.read.Gap;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.Message;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.lease.SignedWitness;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Keeps the last so many messages. Not thread-safe. */
final class LastMessages implements MessageSink {
  private final int most;
  private final ArrayDeque<Kept> kept = new ArrayDeque<>();
  private @Nullable Gap gap; // behind the last one

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
              m.settled(),
              gap));
      gap = null;
    }
    return true;
  }

  /** The same, that keeps what expired in its place. */
  LogReader.Objection keeping(LogReader.Objection objection) {
    return new LogReader.Objection() {
      @Override
      public void ignored(Message m, Path file, String why) {
        objection.ignored(m, file, why);
      }

      @Override
      public void expired(Gap missing) {
        gap = missing;
      }
    };
  }

  /** Hands them over, in order, and tells of what expired between them. */
  void to(MessageSink sink, LogReader.Objection objection) throws IOException {
    for (Kept m : kept) {
      if (m.gap() != null && m != kept.peekFirst()) {
        objection.expired(m.gap());
      }
      if (!sink.accept(m)) {
        return;
      }
    }
    if (gap != null && !kept.isEmpty()) {
      objection.expired(gap);
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
      boolean settled,
      @Nullable Gap gap)
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
