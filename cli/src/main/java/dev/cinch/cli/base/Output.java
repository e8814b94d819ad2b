package dev.cinch.cli.base;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/**
 * A big buffer in front of standard output; writes nothing by itself until it is full. Not
 * thread-safe, which is why it is not a {@link java.io.BufferedOutputStream}.
 */
public final class Output extends OutputStream {
  private static final int CAPACITY = 1 << 18;

  private final OutputStream out;
  private final byte[] buffer = new byte[CAPACITY];
  private int filled;
  private boolean unused = true;
  private int ifClosed = ExitCode.UNAVAILABLE;

  public Output(OutputStream out) {
    this.out = out;
  }

  /** Standard output can't be written; told apart from errors of the store. */
  public static final class ClosedException extends IOException {
    private static final long serialVersionUID = 1;

    private final int code;

    ClosedException(IOException cause, int code) {
      super("standard output: " + cause.getMessage(), cause);
      this.code = code;
    }

    /** What the command is to end with: what it found counts for more than that nobody reads it. */
    public int code() {
      return code == ExitCode.GOOD && !brokenPipe() ? ExitCode.UNAVAILABLE : code;
    }

    /** Whether the reader at the other end left, as {@code head} does. */
    public boolean brokenPipe() {
      return String.valueOf(getMessage()).contains("Broken pipe");
    }
  }

  /**
   * What the command is to end with if from now on this can't be written; {@link
   * ExitCode#UNAVAILABLE} unless told otherwise. With {@link ExitCode#GOOD} a reader that leaves
   * has had enough, as {@code head}; that is so where the output is all that the command is for.
   */
  public void ifClosed(int code) {
    ifClosed = code;
  }

  /** Whether nothing was written yet. */
  public boolean isUnused() {
    return unused;
  }

  @Override
  public void write(int b) throws IOException {
    if (filled == CAPACITY) {
      drain();
    }
    unused = false;
    buffer[filled++] = (byte) b;
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    unused = false;
    if (length > CAPACITY - filled) {
      drain();
      if (length >= CAPACITY) {
        send(bytes, offset, length);
        return;
      }
    }
    System.arraycopy(bytes, offset, buffer, filled, length);
    filled += length;
  }

  /** Writes text as UTF-8. */
  public void text(CharSequence text) throws IOException {
    byte[] bytes = text.toString().getBytes(StandardCharsets.UTF_8);
    write(bytes, 0, bytes.length);
  }

  /** Writes a line. */
  public void line(CharSequence text) throws IOException {
    text(text);
    write('\n');
  }

  private void drain() throws IOException {
    int n = filled;
    filled = 0; // also when it fails: what a closed pipe refused is not offered again
    send(buffer, 0, n);
  }

  private void send(byte[] bytes, int offset, int length) throws IOException {
    try {
      out.write(bytes, offset, length);
    } catch (IOException e) {
      throw new ClosedException(e, ifClosed);
    }
  }

  @Override
  public void flush() throws IOException {
    drain();
    try {
      out.flush();
    } catch (IOException e) {
      throw new ClosedException(e, ifClosed);
    }
  }

  @Override
  public void close() throws IOException {
    flush();
  }
}
