package dev.cinch.cli;

/** Shows on a terminal that long work goes on; says nothing in a pipe. Not thread-safe. */
final class Progress {
  private static final int EVERY = 256;

  private final Io io;
  private long shown;

  Progress(Io io) {
    this.io = io;
  }

  /**
   * Shows a count every so often.
   *
   * @param rest what follows the count
   */
  void show(long count, String rest) {
    if (io.terminal() && count - shown >= EVERY) {
      shown = count;
      io.err().print("\r" + count + rest + " \r");
      io.err().flush();
    }
  }
}
