package dev.cinch.examples;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A writer of the quickstart, as its driver sees it. Thread-safe. */
final class WriterProcess {
  private final Process process;
  private final Thread reader;
  private final CountDownLatch holding = new CountDownLatch(1);
  private final AtomicInteger done = new AtomicInteger();
  private final AtomicInteger grants = new AtomicInteger();
  private final AtomicInteger waits = new AtomicInteger();
  private final AtomicInteger rejected = new AtomicInteger();
  private volatile @Nullable String held;
  private volatile boolean killed;

  /**
   * @param account told what is worth telling, a line each
   */
  WriterProcess(ProcessBuilder command, int number, Consumer<String> account) throws IOException {
    process = command.redirectError(ProcessBuilder.Redirect.INHERIT).start();
    reader = new Thread(() -> read(number, account), "writer-" + number);
    reader.start();
  }

  private void read(int number, Consumer<String> account) {
    try (var in =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        String what = line.split(" ", 2)[0];
        switch (what) {
          case "GRANT" -> grants.incrementAndGet();
          case "WAIT" -> waits.incrementAndGet();
          case "REJECTED" -> {
            rejected.incrementAndGet();
            account.accept(
                "writer " + number + ": line " + line.substring(9) + "; it is sent again");
          }
          case "HOLDING" -> {
            held = line.substring(8);
            holding.countDown();
          }
          case "DONE" -> {
            synchronized (done) {
              done.incrementAndGet();
              done.notifyAll();
            }
          }
          default -> account.accept("writer " + number + ": " + line);
        }
      }
    } catch (IOException e) {
      if (!killed) {
        account.accept("writer " + number + ": " + e);
      }
    } finally {
      holding.countDown();
      synchronized (done) {
        done.notifyAll();
      }
    }
  }

  /** Waits until it says what lease it holds; null if it ended first. */
  @Nullable String awaitHolding() throws InterruptedException {
    holding.await();
    return held;
  }

  /** Waits until it has done so many things; false if it ended first. */
  boolean awaitDone(int count) throws InterruptedException {
    synchronized (done) {
      while (done.get() < count && reader.isAlive() && process.isAlive()) {
        done.wait(100);
      }
      return done.get() >= count;
    }
  }

  void tell(String order) throws IOException {
    OutputStream out = process.getOutputStream();
    out.write((order + "\n").getBytes(StandardCharsets.UTF_8));
    out.flush();
  }

  void kill() throws InterruptedException {
    killed = true;
    process.destroyForcibly();
    int unused = process.waitFor();
    reader.join();
  }

  /** Lets it end by itself, and gives its exit code. */
  int finish() throws IOException, InterruptedException {
    process.getOutputStream().close();
    reader.join();
    return process.waitFor();
  }

  String summary() {
    return "%d grants, %d waits for another holder, %d rejected"
        .formatted(grants.get(), waits.get(), rejected.get());
  }
}
