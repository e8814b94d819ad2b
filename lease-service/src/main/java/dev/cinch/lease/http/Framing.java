package dev.cinch.lease.http;

import io.netty.buffer.ByteBuf;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Where one request ends and the next begins, by the letter of RFC 9112, and what is wrong by HTTP
 * alone. The decoder behind it forgives folded headers, a length beside chunks, and sizes of chunks
 * that overflow. Whoever stands before this server and forgives other things would see other
 * requests in the same bytes. Not thread-safe.
 */
final class Framing {
  private static final int LONGEST_LINE = 4_096;

  /** All of a request's headers, and all of its trailers. */
  private static final int LONGEST_HEADERS = 8_192;

  /** Those that HTTP defines; what a path wants of them is the routes' matter. */
  private static final Set<String> METHODS =
      Set.of("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH");

  private static final String VALUE = "[\\t -~\\x80-\\xff]*";
  private static final Pattern FIRST = Pattern.compile("([!-~]+) [!-~]+ (HTTP/[0-9][.][0-9])");
  private static final Pattern HEADER = Pattern.compile("([!#-'*+.^_`|~0-9A-Za-z-]+):" + VALUE);
  private static final Pattern LENGTH = Pattern.compile("[0-9]{1,18}");

  /** So few digits that no sum of them overflows. */
  private static final Pattern CHUNK =
      Pattern.compile("([0-9A-Fa-f]{1,7})([\\t ]*;" + VALUE + ")?");

  private enum State {
    FIRST_LINE,
    HEADERS,
    /** Bytes of a body, or of a chunk, are left. */
    BODY,
    CHUNK_SIZE,
    CHUNK_END,
    TRAILERS
  }

  private final StringBuilder line = new StringBuilder();
  private State state = State.FIRST_LINE;
  private boolean ended;
  private @Nullable Answer wrong;

  /** Of the request that is followed, or has ended. */
  private String method = "";

  private boolean old;
  private int headers;
  private int hosts;
  private long length;
  private boolean coded;
  private boolean chunked;
  private long left;
  private long received;

  /**
   * Looks at what comes next, and takes none of it.
   *
   * @return how many bytes of it belong to the same request
   */
  int follow(ByteBuf bytes) {
    int at = bytes.readerIndex();
    int end = bytes.writerIndex();
    if (ended) {
      ended = false;
      method = "";
      received = 0;
    }
    while (at < end && !ended && wrong == null) {
      if (state == State.BODY) {
        int part = (int) Math.min(left, end - at);
        at += part;
        left -= part;
        received += part;
        if (left == 0) {
          state = chunked ? State.CHUNK_END : State.FIRST_LINE;
          ended = !chunked;
        }
      } else {
        take((char) (bytes.getByte(at++) & 0xff));
      }
    }
    return at - bytes.readerIndex();
  }

  /** Whether the last byte that was looked at is the request's last one. */
  boolean hasEnded() {
    return ended;
  }

  /** What the request is answered, with which its connection ends; null if nothing is wrong. */
  @Nullable Answer wrong() {
    return wrong;
  }

  /** Of its first line; empty before that was there. */
  String method() {
    return method;
  }

  /** Bytes of its body that were there. */
  long received() {
    return received;
  }

  static Answer tooLarge() {
    return Answer.error(
        413, Answer.TOO_LARGE, "a body has at most " + LeaseServer.MAX_BODY_BYTES + " bytes");
  }

  private void malformed(String message) {
    wrong = Answer.error(400, Answer.MALFORMED, message);
  }

  private void take(char c) {
    if (c != '\n') {
      line.append(c);
      tooLong();
      return;
    }
    int end = line.length() - 1;
    if (end < 0 || line.charAt(end) != '\r') {
      malformed("a line ends with CR and LF");
      return;
    }
    String text = line.substring(0, end);
    line.setLength(0);
    take(text);
  }

  private void tooLong() {
    boolean isHeader = state == State.HEADERS || state == State.TRAILERS;
    int most = isHeader ? LONGEST_HEADERS - headers : LONGEST_LINE;
    if (line.length() <= most + 1) { // with the CR
      return;
    }
    if (state == State.FIRST_LINE) {
      wrong = Answer.error(414, Answer.URI_TOO_LONG, "the first line has more than 4096 bytes");
    } else if (isHeader) {
      wrong = Answer.error(431, Answer.HEADERS_TOO_LARGE, "the headers have more than 8192 bytes");
    } else {
      malformed("a chunk's line is short");
    }
  }

  private void take(String text) {
    switch (state) {
      case FIRST_LINE -> first(text);
      case HEADERS -> {
        if (text.isEmpty()) {
          headEnded();
        } else {
          header(text);
        }
      }
      case CHUNK_SIZE -> chunk(text);
      case CHUNK_END -> {
        state = State.CHUNK_SIZE;
        if (!text.isEmpty()) {
          malformed("a chunk is as long as it says");
        }
      }
      case TRAILERS -> {
        if (text.isEmpty()) {
          state = State.FIRST_LINE;
          ended = true;
          return;
        }
        header(text);
        if (coded || length >= 0) {
          malformed("a trailer says nothing about lengths");
        }
      }
      case BODY -> throw new IllegalStateException("no line is read here");
    }
  }

  private void first(String text) {
    if (text.isEmpty()) {
      return; // clients of old sent an empty line behind a body
    }
    Matcher first = FIRST.matcher(text);
    if (!first.matches()) {
      malformed("a request begins with a method, a path and HTTP/1.1, with one blank between them");
      return;
    }
    method = first.group(1);
    String version = first.group(2);
    old = version.equals("HTTP/1.0");
    if (!old && !version.equals("HTTP/1.1")) {
      wrong = Answer.error(505, Answer.VERSION, "HTTP/1.1 is spoken here, not " + version);
    } else if (!METHODS.contains(method)) {
      wrong = Answer.error(501, Answer.NOT_IMPLEMENTED, "there is no method " + method);
    }
    headers = 0;
    hosts = 0;
    length = -1;
    coded = false;
    chunked = false;
    state = State.HEADERS;
  }

  private void header(String text) {
    headers += text.length();
    Matcher header = HEADER.matcher(text);
    if (text.startsWith(" ") || text.startsWith("\t")) {
      malformed("a header stands on one line");
      return;
    }
    if (!header.matches()) {
      malformed("a header is a name, a colon right behind it, and text");
      return;
    }
    int value = header.end(1) + 1;
    switch (header.group(1).toLowerCase(Locale.ROOT)) {
      case "content-length" -> {
        String given = text.substring(value).strip();
        if (length >= 0 || !LENGTH.matcher(given).matches()) {
          malformed("a request has one Content-Length, which is a number");
        } else {
          length = Long.parseLong(given);
        }
      }
      case "transfer-encoding" -> {
        chunked = !coded && text.substring(value).strip().equalsIgnoreCase("chunked");
        coded = true;
      }
      case "host" -> hosts++;
      // Of one kind of WebSocket the decoder expects a body without a length.
      case "sec-websocket-key", "sec-websocket-key1", "sec-websocket-key2" ->
          malformed("no WebSocket is spoken here");
      default -> {}
    }
  }

  private void headEnded() {
    headers = 0;
    if (coded && length >= 0) {
      malformed("a request has a Content-Length or a Transfer-Encoding, not both");
    } else if (coded && old) {
      malformed("HTTP/1.0 has no Transfer-Encoding");
    } else if (coded && !chunked) {
      wrong = Answer.error(501, Answer.NOT_IMPLEMENTED, "the one transfer coding is chunked");
    } else if (hosts != 1 && !old) {
      malformed("a request has one Host");
    } else if (length > LeaseServer.MAX_BODY_BYTES) {
      wrong = tooLarge();
    } else if (coded) {
      coded = false;
      state = State.CHUNK_SIZE;
    } else if (length > 0) {
      left = length;
      state = State.BODY;
    } else {
      state = State.FIRST_LINE;
      ended = true;
    }
  }

  private void chunk(String text) {
    Matcher chunk = CHUNK.matcher(text);
    if (!chunk.matches()) {
      malformed("a chunk begins with its size, in hexadecimal digits");
      return;
    }
    left = Integer.parseInt(chunk.group(1), 16);
    state = left == 0 ? State.TRAILERS : State.BODY;
    if (received + left > LeaseServer.MAX_BODY_BYTES) {
      wrong = tooLarge();
    }
  }
}
