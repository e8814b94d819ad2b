package dev.cinch.bag.threads;

import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.MessageRefusedException;
import java.io.IOException;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Threads that share writers of one log, which are closed under their hands. */
final class WriterWorld extends World {
  private final Durability durability;
  private final Queue<LogWriter> all = new ConcurrentLinkedQueue<>();
  private volatile LogWriter writer;

  WriterWorld(long seed) throws IOException {
    super(seed, StoreSettings.DEFAULT);
    durability = seed % 4 == 0 ? Durability.CLOSE : Durability.SYNC;
  }

  @Override
  void begin() {
    writer = another();
  }

  private LogWriter another() {
    LogWriter made = log.writer(durability);
    all.add(made);
    return made;
  }

  @Override
  Step draw(Caller caller, Random random) {
    LogWriter w = writer;
    int roll = random.nextInt(100);
    if (roll < 30) {
      return () -> caller.append(log, random, w::append);
    }
    if (roll < 60) {
      boolean needsThread = roll < 48;
      return () ->
          caller.submit(
              log,
              w,
              needsThread,
              random,
              p -> w.submit(LeaseStamp.NONE, p, 0, p.length, needsThread));
    }
    if (roll < 70) {
      return () -> caller.awaitOne(random);
    }
    if (roll < 76) {
      return () -> flush(w);
    }
    if (roll < 80) {
      return () -> caller.interruptSomebody(random);
    }
    if (roll < 84) {
      boolean closes = random.nextBoolean();
      return () -> {
        try {
          writer = another();
        } catch (Error e) {
          permit(e);
        }
        if (closes) {
          close(w);
        }
      };
    }
    if (roll < 92) {
      return () -> close(random);
    }
    return roll < 96 ? this::read : () -> caller.pause(random);
  }

  private void close(LogWriter w) throws Exception {
    List<Sent> before = sentTo(w);
    try {
      w.close();
    } catch (RuntimeException | Error e) {
      permit(e);
      return;
    }
    allDone(before, "after close");
    assertThrows(MessageRefusedException.class, () -> w.append(new byte[1]).timestamp());
  }

  @Override
  void end() throws Exception {
    for (LogWriter w : all) {
      close(w);
    }
  }

  @Override
  void check() {}
}
