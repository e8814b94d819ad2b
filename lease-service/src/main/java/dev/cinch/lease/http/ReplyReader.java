package dev.cinch.lease.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Locale;

/**
 * Reads one answer of HTTP/1.1 (RFC 9112), whose length is bounded: whoever answers may go on for
 * ever. Not thread-safe.
 */
final class ReplyReader {
  /** All lines of an answer together: of its heads, chunks and trailers; bytes. */
  private static final int MAX_LINES = 1 << 20;

  /** So much is made room for before it came; bytes. */
  private static final int TRUSTED = 1 << 20;

  /** So much is read at once: a channel keeps as much outside the heap; bytes. */
  private static final int MOST_AT_ONCE = 64 << 10;

  /** Where bytes come from. */
  @FunctionalInterface
  interface Source {
    /** Reads at least one byte; -1 at the end. */
    int read(ByteBuffer into) throws IOException, InterruptedException;
  }

  private final Source source;
  private final int most;
  private final ByteBuffer buffer = ByteBuffer.allocate(8 << 10).flip();
  private int lines;
  private boolean keep;

  /**
   * @param most bytes of a body, at most
   */
  ReplyReader(Source source, int most) {
    this.source = source;
    this.most = most;
  }

  /** Reads it whole. */
  Transport.Reply read() throws IOException, InterruptedException {
    Head head = head();
    while (head.status < 200) {
      head = head(); // "continue", and the like
    }
    byte[] body = body(head);
    keep = head.keep && !buffer.hasRemaining();
    return new Transport.Reply(head.status, body);
  }

  /** Whether another request may follow on the connection, after the answer was read. */
  boolean keep() {
    return keep;
  }

  /** What the lines before a body say; -1 for a length that they don't. */
  private static final class Head {
    int status;
    boolean keep;
    boolean chunked;
    long length = -1;
  }

  private Head head() throws IOException, InterruptedException {
    String first = line();
    var head = new Head();
    head.status = status(first);
    head.keep = first.startsWith("HTTP/1.1");
    for (String line = line(); !line.isEmpty(); line = line()) {
      int colon = line.indexOf(':');
      if (colon < 0) {
        throw new IOException("the answer's head has a line without a colon");
      }
      String value = line.substring(colon + 1).strip().toLowerCase(Locale.ROOT);
      switch (line.substring(0, colon).toLowerCase(Locale.ROOT)) {
        case "content-length" -> {
          long length = number(value, 10);
          if (head.length >= 0 && head.length != length) {
            throw new IOException("the answer has two lengths");
          }
          head.length = length;
        }
        case "transfer-encoding" -> {
          if (head.chunked || !value.equals("chunked")) {
            throw new IOException("the answer is encoded in an unknown way");
          }
          head.chunked = true;
        }
        case "connection" -> head.keep &= !value.contains("close");
        default -> {}
      }
    }
    return head;
  }

  private static int status(String line) throws IOException {
    boolean known = line.startsWith("HTTP/1.") && line.length() >= 12 && line.charAt(8) == ' ';
    if (!known || (line.length() > 12 && line.charAt(12) != ' ')) {
      throw new IOException("not an answer of HTTP/1.1");
    }
    int status = (int) number(line.substring(9, 12), 10);
    if (status < 100) {
      throw new IOException("not an answer of HTTP/1.1");
    }
    return status;
  }

  private static long number(String digits, int base) throws IOException {
    boolean good = !digits.isEmpty() && digits.length() <= 15;
    long number = 0;
    for (int i = 0; good && i < digits.length(); i++) {
      int digit = digits.charAt(i) < 128 ? Character.digit(digits.charAt(i), base) : -1;
      good = digit >= 0;
      number = number * base + digit;
    }
    if (!good) {
      throw new IOException("the answer has a number that is none");
    }
    return number;
  }

  private byte[] body(Head head) throws IOException, InterruptedException {
    var body = new ByteArrayOutputStream();
    if (head.status == 204 || head.status == 304) {
      return body.toByteArray();
    }
    if (head.chunked) {
      head.keep &= head.length < 0; // with both somebody between may have read it another way
      for (long size = chunk(); size > 0; size = chunk()) {
        take(body, size);
        if (!line().isEmpty()) {
          throw new IOException("the answer has a chunk of another length");
        }
      }
      while (!line().isEmpty()) {
        // Trailers say nothing to us.
      }
    } else if (head.length >= 0) {
      return whole(head.length);
    } else {
      head.keep = false;
      while (buffer.hasRemaining() || fill()) {
        take(body, buffer.remaining());
      }
    }
    return body.toByteArray();
  }

  /** A body whose length is known: into its place at once. */
  private byte[] whole(long length) throws IOException, InterruptedException {
    if (length > most) {
      throw tooLong();
    }
    var body = new byte[(int) Math.min(length, TRUSTED)];
    int got = Math.min(body.length, buffer.remaining());
    buffer.get(body, 0, got);
    while (got < length) {
      if (got == body.length) {
        body = Arrays.copyOf(body, (int) Math.min(length, 2L * got));
      }
      ByteBuffer into = ByteBuffer.wrap(body, got, Math.min(body.length - got, MOST_AT_ONCE));
      if (source.read(into) < 0) {
        throw brokeOff();
      }
      got = into.position();
    }
    return body;
  }

  private long chunk() throws IOException, InterruptedException {
    String line = line();
    int end = line.indexOf(';');
    return number((end < 0 ? line : line.substring(0, end)).strip(), 16);
  }

  private void take(ByteArrayOutputStream body, long count)
      throws IOException, InterruptedException {
    if (count > most - body.size()) {
      throw tooLong();
    }
    for (long left = count; left > 0; ) {
      need();
      int part = (int) Math.min(left, buffer.remaining());
      body.write(buffer.array(), buffer.position(), part);
      buffer.position(buffer.position() + part);
      left -= part;
    }
  }

  private IOException tooLong() {
    return new IOException("the answer has more than " + most + " bytes");
  }

  private static EOFException brokeOff() {
    return new EOFException("the answer broke off");
  }

  /** A line without its end. */
  private String line() throws IOException, InterruptedException {
    var line = new ByteArrayOutputStream();
    while (true) {
      need();
      if (++lines > MAX_LINES) {
        throw new IOException("the answer's head does not end");
      }
      byte b = buffer.get();
      if (b == '\n') {
        String text = line.toString(ISO_8859_1);
        return text.endsWith("\r") ? text.substring(0, text.length() - 1) : text;
      }
      line.write(b);
    }
  }

  private void need() throws IOException, InterruptedException {
    if (!buffer.hasRemaining() && !fill()) {
      throw brokeOff();
    }
  }

  private boolean fill() throws IOException, InterruptedException {
    buffer.clear();
    try {
      return source.read(buffer) >= 0;
    } finally {
      buffer.flip();
    }
  }
}
