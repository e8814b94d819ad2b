package dev.cinch.cli.append;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Output;
import dev.cinch.lease.Id;
import dev.cinch.lease.time.ForwardingTime;
import dev.cinch.lease.time.SystemTime;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.SequenceInputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What becomes of messages that are rejected, and of receipts while the input goes on. */
@Timeout(600)
class AppendJobTest {
  private static final DataFileName FILE = new DataFileName(new MachineName("m"), new Id(1, 2));

  private final List<String> submitted = new ArrayList<>();
  private final List<String> committed = new ArrayList<>();
  private final Map<String, Integer> rejections = new HashMap<>();
  private long clock;

  /** Rejects each message as often as {@link #rejections} says. */
  private synchronized AppendJob.Pending submit(
      byte[] bytes, int offset, int length, AppendJob.@Nullable Pending behind)
      throws MessageRefusedException {
    String text = new String(bytes, offset, length, StandardCharsets.UTF_8);
    if (text.equals("never")) {
      throw new MessageRefusedException("a lease was lost");
    }
    submitted.add(text);
    long timestamp = ++clock;
    int left = rejections.merge(text, -1, Integer::sum);
    if (left >= 0) {
      return () -> new Receipt.Rejected(timestamp, "the bucket was closed");
    }
    committed.add(text);
    return () ->
        new Receipt.Committed(timestamp, Bucket.of(timestamp, 10), FILE, committed.indexOf(text));
  }

  private static InputStream lines(String... lines) {
    return new ByteArrayInputStream(
        (String.join("\n", lines) + "\n").getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void nothingRejectedKeepsTheOrder() throws Exception {
    var job = new AppendJob(this::submit, 100, () -> null, null, null, forEver());
    run(job, lines("a", "b", "c"));
    assertEquals(List.of("a", "b", "c"), committed);
    assertEquals(committed, submitted);
    assertEquals(3, job.fates().committed());
    assertEquals(0, job.fates().failed());
  }

  @Test
  void rejectedMessagesAreSentAgainAndNothingPassesOneThatStaysOut() throws Exception {
    rejections.put("b", 1);
    rejections.put("c", AppendJob.RESENDS);
    rejections.put("d", AppendJob.RESENDS + 2);
    var bytes = new ByteArrayOutputStream();
    var job = new AppendJob(this::chained, 100, () -> null, new Output(bytes), null, forEver());
    run(job, lines("a", "b", "c", "d", "e"));
    assertEquals(List.of("a", "b", "c"), committed);
    assertEquals(3, job.fates().committed());
    assertEquals(AppendJob.RESENDS + 2, submitted.stream().filter("d"::equals).count());
    assertEquals(
        "2 of 5 messages not appended (lines 4, 5): the bucket was closed; no more input was taken",
        job.summary());
    List<String> receipts = bytes.toString(StandardCharsets.UTF_8).lines().toList();
    assertTrue(receipts.get(1).contains("\"line\":2,\"state\":\"COMMITTED\""), receipts.get(1));
    assertEquals(
        "{\"line\":4,\"state\":\"REJECTED\",\"reason\":\"the bucket was closed\"}",
        receipts.get(3));
  }

  /** A writer that waits for what is to be written; rejects it when it gives up. */
  private static final class FullDisk {
    private final CountDownLatch gaveUp = new CountDownLatch(1);
    private final boolean hangs;
    private final Runnable waits;
    private long clock;

    FullDisk(boolean hangs) {
      this(hangs, () -> {});
    }

    FullDisk(boolean hangs, Runnable waits) {
      this.hangs = hangs;
      this.waits = waits;
    }

    private AppendJob.Pending submit(
        byte[] bytes, int offset, int length, AppendJob.@Nullable Pending behind) {
      char kind = (char) bytes[offset];
      long timestamp = ++clock;
      return () -> {
        if (kind == 'c') {
          return new Receipt.Committed(timestamp, Bucket.of(timestamp, 10), FILE, 0);
        }
        try {
          gaveUp.await();
          if (hangs) {
            new CountDownLatch(1).await();
          }
        } catch (InterruptedException e) {
          throw new IllegalStateException(e);
        }
        return new Receipt.Rejected(timestamp, "gave up");
      };
    }

    /** Each look is a second later. */
    GivingUp after(int seconds) {
      var time =
          new ForwardingTime(SystemTime.INSTANCE) {
            private long now;

            @Override
            public synchronized long monotonicNanos() {
              now += 1_000_000_000L;
              return now;
            }
          };
      return new GivingUp(
          time, Duration.ofSeconds(seconds), why -> gaveUp.countDown(), job -> waits.run());
    }
  }

  @Test
  void whoGivesUpIsToldTheFateOfEachLine() throws Exception {
    var disk = new FullDisk(false);
    var bytes = new ByteArrayOutputStream();
    var job = new AppendJob(disk::submit, 100, () -> null, new Output(bytes), null, disk.after(2));
    run(job, lines("c", "r", "r"));
    assertTrue(job.gaveUp());
    assertFalse(job.hangs());
    assertEquals(
        "2 of 3 messages not appended (lines 2, 3): gave up; no more input was taken",
        job.summary());
    assertEquals(
        List.of("COMMITTED", "REJECTED", "REJECTED"),
        bytes
            .toString(StandardCharsets.UTF_8)
            .lines()
            .map(line -> line.replaceAll(".*\"state\":\"([A-Z]+)\".*", "$1"))
            .toList());
  }

  /** As another signal has it; and somebody may say meanwhile what is waited for. */
  @Test
  void whoEndsAJobIsToldTheFateOfEachLine() throws Exception {
    var job = new AppendJob[1];
    var said = new ArrayList<String>();
    var disk =
        new FullDisk(
            false,
            () -> {
              said.add(job[0].waiting());
              job[0].giveUp("ended");
            });
    job[0] = new AppendJob(disk::submit, 100, () -> null, null, null, disk.after(1_000));
    run(job[0], lines("c", "r", "r"));
    assertEquals(List.of("lines 1 to 3"), said, "those of one read are told together");
    assertEquals(
        "2 of 3 messages not appended (lines 2, 3): gave up; no more input was taken",
        job[0].summary());
  }

  @Test
  void aFilesystemThatHangsKeepsNobodyFromGivingUp() throws Exception {
    var disk = new FullDisk(true);
    var bytes = new ByteArrayOutputStream();
    var job = new AppendJob(disk::submit, 100, () -> null, new Output(bytes), null, disk.after(2));
    run(job, lines("r", "r"));
    assertTrue(job.hangs());
    assertEquals(
        "0 messages committed; the fate of 2 is unknown (lines 1, 2): gave up after 2 s without a"
            + " receipt; no more input was taken",
        job.summary());
    assertEquals(2, bytes.toString(StandardCharsets.UTF_8).lines().count());
  }

  /** A message that is in the log only if the one before is, as the library has it. */
  private AppendJob.Pending chained(
      byte[] bytes, int offset, int length, AppendJob.@Nullable Pending behind)
      throws MessageRefusedException {
    if (behind != null && behind.await() instanceof Receipt.Rejected) {
      return () -> new Receipt.Rejected(0, "what it follows is not there");
    }
    return submit(bytes, offset, length, behind);
  }

  /** One line a read. */
  private static InputStream reads(List<String> lines) {
    return new InputStream() {
      private int at;

      @Override
      public int read() {
        throw new AssertionError("one byte at a time");
      }

      @Override
      public int read(byte[] b, int offset, int length) {
        if (at == lines.size()) {
          return -1;
        }
        byte[] line = (lines.get(at++) + "\n").getBytes(StandardCharsets.UTF_8);
        System.arraycopy(line, 0, b, offset, line.length);
        return line.length;
      }
    };
  }

  private static void run(AppendJob job, InputStream in) throws Exception {
    job.run(Inputs.of(in), LineReader.Ends.NEWLINE);
  }

  private static GivingUp forEver() {
    return new GivingUp(SystemTime.INSTANCE, null, why -> {}, waiting -> {});
  }

  private static Resumption nothingBefore() {
    return new Resumption(sink -> {}, 10, false);
  }

  @Test
  void theOrderStaysWhateverIsRejected() throws Exception {
    var all = new ArrayList<String>();
    for (int i = 0; i < 1_000; i++) {
      all.add("line " + i);
      if (i % 7 == 3) {
        rejections.put("line " + i, 1 + i % AppendJob.RESENDS);
      }
    }
    var job = new AppendJob(this::chained, 100, () -> null, null, null, forEver());
    run(job, reads(all));
    assertEquals(all, committed);
    assertEquals(1_000, job.fates().committed());
    committed.clear();
    rejections.put("line 40", 1);
    rejections.put("line 41", 2);
    job = new AppendJob(this::chained, 100, () -> null, null, null, forEver());
    run(job, lines(all.toArray(String[]::new)));
    assertEquals(all, committed, "of one read");
  }

  @Test
  void itEndsAtALineThatStaysRejected() throws Exception {
    rejections.put("b", 100);
    for (InputStream in : List.of(lines("a", "b", "c"), reads(List.of("a", "b", "c", "d", "e")))) {
      committed.clear();
      var job = new AppendJob(this::chained, 100, () -> null, null, null, forEver());
      run(job, in);
      assertEquals(List.of("a"), committed);
      assertEquals(1, job.fates().committed());
      assertTrue(job.lost());
      assertTrue(job.fates().failed() >= 1);
    }
  }

  @Test
  void noMoreIsReadForALogThatWasRemoved() throws Exception {
    rejections.put("b", 2 + AppendJob.RESENDS);
    var over = new CountDownLatch(1);
    InputStream silent =
        new InputStream() {
          @Override
          public int read() throws IOException {
            try {
              over.await();
            } catch (InterruptedException e) {
              throw new IOException(e);
            }
            return -1;
          }
        };
    var bytes = new ByteArrayOutputStream();
    var job =
        new AppendJob(
            this::submit, 100, () -> "it was removed", new Output(bytes), null, forEver());
    run(job, new SequenceInputStream(lines("a", "b"), silent));
    over.countDown();
    assertEquals(
        "1 of 2 messages not appended (line 2): it was removed; no more input was taken",
        job.summary());
    assertTrue(
        bytes
            .toString(StandardCharsets.UTF_8)
            .endsWith("{\"line\":2,\"state\":\"REJECTED\",\"reason\":\"it was removed\"}\n"));
  }

  @Test
  void aSlowProducerGetsItsReceiptsBeforeItGoesOn() throws Exception {
    var told = new CountDownLatch(1);
    OutputStream out =
        new OutputStream() {
          @Override
          public void write(int b) {
            throw new AssertionError("one byte at a time");
          }

          @Override
          public void write(byte[] b, int offset, int length) {
            if (length > 0) {
              told.countDown();
            }
          }
        };
    InputStream in =
        new InputStream() {
          private int reads;

          @Override
          public int read() {
            throw new AssertionError("one byte at a time");
          }

          @Override
          public int read(byte[] b, int offset, int length) throws IOException {
            if (reads++ == 0) {
              b[offset] = 'a';
              b[offset + 1] = '\n';
              return 2;
            }
            try {
              assertTrue(told.await(10, TimeUnit.MINUTES), "the receipt of the first line");
            } catch (InterruptedException e) {
              throw new IOException(e);
            }
            return -1;
          }
        };
    run(new AppendJob(this::submit, 100, () -> null, new Output(out), null, forEver()), in);
    assertEquals(List.of("a"), committed);
  }

  @Test
  void receiptsThatNobodyReadsEndTheJob() {
    OutputStream full =
        new OutputStream() {
          @Override
          public void write(int b) throws IOException {
            throw new IOException("Broken pipe");
          }

          @Override
          public void write(byte[] b, int offset, int length) throws IOException {
            throw new IOException("Broken pipe");
          }
        };
    InputStream endless =
        new InputStream() {
          @Override
          public int read() {
            return '\n';
          }

          @Override
          public int read(byte[] b, int offset, int length) {
            b[offset] = '\n';
            return 1;
          }
        };
    var job = new AppendJob(this::submit, 100, () -> null, new Output(full), null, forEver());
    var e = assertThrows(Output.ClosedException.class, () -> run(job, endless));
    assertTrue(e.brokenPipe());
  }

  @Test
  void theFirstMessageThatIsRefusedEndsTheInput() throws Exception {
    InputStream endless =
        new InputStream() {
          private int reads;

          @Override
          public int read() {
            throw new AssertionError("one byte at a time");
          }

          @Override
          public int read(byte[] b, int offset, int length) {
            byte[] line = (++reads == 3 ? "never\n" : "a\n").getBytes(StandardCharsets.UTF_8);
            System.arraycopy(line, 0, b, offset, line.length);
            return line.length;
          }
        };
    var job = new AppendJob(this::submit, 100, () -> null, null, null, forEver());
    run(job, endless);
    assertTrue(job.lost());
    assertEquals(List.of("a", "a"), committed);
    assertEquals(
        "1 of 3 messages not appended (line 3): a lease was lost; no more input was taken",
        job.summary());
  }

  /** One that is refused for a moment only would leave a gap. */
  @Test
  void nothingBehindARefusedMessageIsAppended() throws Exception {
    var job = new AppendJob(this::submit, 100, () -> null, null, null, forEver());
    run(job, lines("a", "never", "b", "c"));
    assertEquals(List.of("a"), committed);
    assertEquals(
        "3 of 4 messages not appended (lines 2 to 4): a lease was lost; no more input was taken",
        job.summary());
  }

  @Test
  void itIsKnownWhetherAllOfTheInputWasTaken() throws Exception {
    var whole = new AppendJob(this::submit, 100, () -> null, null, null, forEver());
    run(whole, lines("a"));
    whole.stop(); // too late to keep anything out
    assertTrue(whole.ended());
    var refused = new AppendJob(this::submit, 100, () -> null, null, null, forEver());
    refused.stop();
    run(refused, lines("b"));
    assertFalse(refused.ended());
  }

  @Test
  void stoppingTakesNoMoreAndWaitsForNoInput() throws Exception {
    var reading = new CountDownLatch(2);
    InputStream silent =
        new InputStream() {
          @Override
          public int read() {
            throw new AssertionError("one byte at a time");
          }

          @Override
          public int read(byte[] b, int offset, int length) throws IOException {
            reading.countDown();
            if (reading.getCount() == 1) {
              b[offset] = 'a';
              b[offset + 1] = '\n';
              return 2;
            }
            try {
              new CountDownLatch(1).await(); // nothing more ever comes
            } catch (InterruptedException e) {
              throw new IOException(e);
            }
            return -1;
          }
        };
    var job = new AppendJob(this::submit, 100, () -> null, null, null, forEver());
    var stopper =
        new Thread(
            () -> {
              try {
                reading.await();
              } catch (InterruptedException e) {
                throw new IllegalStateException(e);
              }
              job.stop();
            });
    stopper.start();
    run(job, silent);
    stopper.join();
    assertEquals(List.of("a"), committed);
    assertEquals("1 message committed", job.summary());
    var stopped = new AppendJob(this::submit, 100, () -> null, null, null, forEver());
    stopped.stop();
    run(stopped, lines("b"));
    assertEquals(0, stopped.fates().committed());
  }

  /** Gives these lines and then fails, as a disk does. */
  /**
   * @param reads told which thread meets the end
   */
  private static InputStream failing(CompletableFuture<Thread> reads, String... lines) {
    return new SequenceInputStream(
        lines(lines),
        new InputStream() {
          @Override
          public int read() throws IOException {
            reads.complete(Thread.currentThread());
            throw new IOException("Input/output error");
          }
        });
  }

  @Test
  void inputThatBreaksOffDoesNotHideWhatWasCommitted() {
    rejections.put("c", AppendJob.RESENDS + 2);
    var job = new AppendJob(this::submit, 100, () -> null, null, null, forEver());
    var e =
        assertThrows(
            IOException.class, () -> run(job, failing(new CompletableFuture<>(), "a", "b")));
    assertEquals(
        new Failure(
            ExitCode.UNAVAILABLE,
            "the input could not be read (Input/output error); 2 messages were committed"),
        Failure.of(e));
    var reads = new CompletableFuture<Thread>();
    AppendJob.Submitter late = // no fate is known before the input has broken off
        (bytes, offset, length, behind) -> {
          AppendJob.Pending pending = submit(bytes, offset, length, behind);
          return () -> {
            assertDoesNotThrow(() -> reads.join().join());
            return pending.await();
          };
        };
    var other = new AppendJob(late, 100, () -> null, null, null, forEver());
    e = assertThrows(IOException.class, () -> run(other, failing(reads, "a", "b", "c")));
    assertEquals(
        "the input could not be read (Input/output error);"
            + " 1 of 3 messages not appended (line 3): the bucket was closed",
        e.getMessage());
  }

  /**
   * An error may come between the message and what would tell its fate: nobody knows that one's.
   */
  @Test
  void anErrorForWantOfMemoryDoesNotHideWhatWasCommitted() {
    AppendJob.Submitter poor =
        (bytes, offset, length, behind) -> {
          AppendJob.Pending pending = submit(bytes, offset, length, behind);
          if (bytes[offset] == 'c') {
            throw new OutOfMemoryError("Java heap space");
          }
          return pending;
        };
    var job = new AppendJob(poor, 100, () -> null, null, null, forEver());
    var e = assertThrows(IOException.class, () -> run(job, lines("a", "b", "c", "d")));
    assertEquals(
        new Failure(
            ExitCode.UNAVAILABLE,
            "out of memory; give it more with CINCH_JAVA_OPTS=-Xmx…; 2 messages were committed,"
                + " and more may be committed"),
        Failure.of(e));
    assertEquals(List.of("a", "b", "c"), committed);
  }

  @Test
  void anErrorWhileAFateIsWaitedForDoesNotHideWhatWasCommitted() {
    AppendJob.Submitter poor =
        (bytes, offset, length, behind) -> {
          AppendJob.Pending pending = submit(bytes, offset, length, behind);
          return bytes[offset] == 'a'
              ? pending
              : () -> {
                throw new OutOfMemoryError("Java heap space");
              };
        };
    var job = new AppendJob(poor, 100, () -> null, null, null, forEver());
    var e = assertThrows(IOException.class, () -> run(job, lines("a", "b")));
    assertTrue(String.valueOf(e.getMessage()).endsWith("and more may be committed"), e.toString());
    assertTrue(String.valueOf(e.getMessage()).startsWith("out of memory"), e.toString());
  }
}
