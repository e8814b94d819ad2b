package dev.cinch.lease.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.google.errorprone.annotations.CheckReturnValue;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * One answer of HTTP/1.1 (RFC 9112) while it arrives. Its lines are bounded here and its body by
 * who reads it, since whoever answers may go on for ever. One that was read to its end leaves its
 * connection to the next request when it is closed. Not thread-safe.
 */
@CheckReturnValue
public final class Reply implements AutoCloseable {
  /** With it begins what a server of TLS says to a request in plain text. */
  private static final int TLS_ALERT = 0x15;

  /** Of the lines of its heads together, and of what is between two chunks; bytes. */
  private static final int MAX_LINES = 1 << 20;

  private final InputStream in;
  private final Set<String> wanted;
  private final Leave leave;
  private final InputStream body = new Body();
  private final Map<String, String> headers = new HashMap<>();
  private int lines;
  private int status;
  private boolean keep;
  private boolean chunked;

  /** What is left of the body, or of a chunk; -1 if that ends with the connection. */
  private long left = -1;

  private boolean ended;
  private boolean closed;

  /** What becomes of the connection. */
  @FunctionalInterface
  interface Leave {
    void with(boolean keep);
  }

  /**
   * Reads its head.
   *
   * @param in says that as many bytes are available as came already and are not of this answer
   * @param wanted the headers that are kept
   * @param leave called once, when it is closed
   */
  Reply(InputStream in, Set<String> wanted, Leave leave) throws IOException {
    this.in = in;
    this.wanted = wanted;
    this.leave = leave;
    do {
      head(); // "continue", and the like
    } while (status < 200);
    ended = status == 204 || status == 304 || (left == 0 && !chunked);
    if (chunked) {
      keep &= left < 0; // with both somebody between may have read it another way
      left = 0;
    } else {
      keep &= left >= 0 || ended;
    }
  }

  /** Of HTTP, 200 to 999. */
  public int status() {
    return status;
  }

  /**
   * One of the headers that the request wanted; the last one, if it came more than once.
   *
   * @param name in small letters
   */
  public Optional<String> header(String name) {
    return Optional.ofNullable(headers.get(name));
  }

  /** The body while it arrives; at most until the time that the request was given. */
  public InputStream body() {
    return body;
  }

  /**
   * The whole body.
   *
   * @param most bytes, at most
   * @throws java.net.SocketTimeoutException if it is not there in time
   * @throws IOException if it is longer, or broke off
   */
  public byte[] whole(int most) throws IOException, InterruptedException {
    byte[] all;
    try {
      all = left > most ? new byte[0] : body.readNBytes(most + 1);
    } catch (IOException e) {
      throw HttpConnections.unlessInterrupted(e);
    }
    if (left > most || all.length > most) {
      throw new IOException("the answer has more than " + most + " bytes");
    }
    return all;
  }

  /** Whether another request may follow on the connection, after all of it was read. */
  boolean keep() {
    try {
      return keep && ended && in.available() == 0;
    } catch (IOException e) {
      return false;
    }
  }

  /** Nobody reads it any more. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      leave.with(keep());
    }
  }

  private void head() throws IOException {
    String first = line();
    boolean known = first.startsWith("HTTP/1.") && first.length() >= 12 && first.charAt(8) == ' ';
    if (!known || (first.length() > 12 && first.charAt(12) != ' ')) {
      throw new IOException("not an answer of HTTP/1.1");
    }
    status = (int) number(first.substring(9, 12), 10);
    if (status < 100) {
      throw new IOException("not an answer of HTTP/1.1");
    }
    keep = first.startsWith("HTTP/1.1");
    left = -1;
    chunked = false;
    headers.clear();
    for (String line = line(); !line.isEmpty(); line = line()) {
      int colon = line.indexOf(':');
      if (colon < 0) {
        throw new IOException("the answer's head has a line without a colon");
      }
      String name = line.substring(0, colon).toLowerCase(Locale.ROOT);
      String value = line.substring(colon + 1).strip();
      header(name, value.toLowerCase(Locale.ROOT));
      if (wanted.contains(name)) {
        headers.put(name, value);
      }
    }
  }

  private void header(String name, String value) throws IOException {
    switch (name) {
      case "content-length" -> {
        long length = number(value, 10);
        if (left >= 0 && left != length) {
          throw new IOException("the answer has two lengths");
        }
        left = length;
      }
      case "transfer-encoding" -> {
        if (chunked || !value.equals("chunked")) {
          throw new IOException("the answer is encoded in an unknown way");
        }
        chunked = true;
      }
      case "connection" -> keep &= !value.contains("close");
      default -> {}
    }
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

  /** A line without its end. */
  private String line() throws IOException {
    var line = new ByteArrayOutputStream();
    while (true) {
      int b = in.read();
      if (b < 0) {
        throw brokeOff();
      }
      if (++lines > MAX_LINES) {
        throw new IOException("the answer's head does not end");
      }
      if (lines == 1 && b == TLS_ALERT) {
        throw new IOException("TLS is spoken there; the address begins with https://");
      }
      if (b == '\n') {
        String text = line.toString(ISO_8859_1);
        return text.endsWith("\r") ? text.substring(0, text.length() - 1) : text;
      }
      line.write(b);
    }
  }

  private static EOFException brokeOff() {
    return new EOFException("the answer broke off");
  }

  private final class Body extends InputStream {
    private boolean begun;

    @Override
    public int read() throws IOException {
      var one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
      if (length == 0) {
        return 0;
      }
      if (chunked && left == 0 && !ended) {
        nextChunk();
      }
      if (ended) {
        return -1;
      }
      int count = in.read(into, offset, left < 0 ? length : (int) Math.min(length, left));
      if (count < 0 && left >= 0) {
        throw brokeOff();
      }
      left -= left < 0 ? 0 : count;
      ended = count < 0 || (left == 0 && !chunked);
      return count;
    }

    private void nextChunk() throws IOException {
      lines = 0;
      if (begun && !line().isEmpty()) {
        throw new IOException("the answer has a chunk of another length");
      }
      begun = true;
      String size = line();
      int end = size.indexOf(';');
      left = number((end < 0 ? size : size.substring(0, end)).strip(), 16);
      ended = left == 0;
      while (ended && !line().isEmpty()) {
        // Trailers say nothing to us.
      }
    }
  }
}
