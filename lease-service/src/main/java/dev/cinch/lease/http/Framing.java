package dev.cinch.lease.http;

import io.netty.buffer.ByteBuf;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Where one request ends and the next begins, by the letter of RFC 9112. The decoder behind it
 * forgives folded headers, a length beside chunks, and sizes of chunks that overflow. Whoever
 * stands before this server and forgives other things would see other requests in the same bytes.
 * Not thread-safe.
 */
final class Framing {
  /** The decoder refuses every line that is longer, with a status that fits. */
  private static final int LONGEST_LINE = 8_192;

  private static final String VALUE = "[\\t -~\\x80-\\xff]*";
  private static final Pattern FIRST = Pattern.compile("[!-~]+ [!-~]+ HTTP/[0-9][.][0-9]");
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
    TRAILERS,
    /** The decoder refuses what is there, or what comes next. */
    LEFT_TO_DECODER
  }

  private final StringBuilder line = new StringBuilder();
  private State state = State.FIRST_LINE;
  private long left;
  private long length;
  private boolean coded;
  private boolean chunked;
  private boolean old;
  private @Nullable String wrong;

  /**
   * Looks at what comes next, and takes none of it.
   *
   * @param most so many bytes at most
   * @return how many of them belong to the same request
   */
  int follow(ByteBuf bytes, int most) {
    int at = bytes.readerIndex();
    int end = at + Math.min(most, bytes.readableBytes());
    boolean ended = false;
    while (at < end && !ended && wrong == null) {
      if (state == State.LEFT_TO_DECODER) {
        at = end;
      } else if (state == State.BODY) {
        int part = (int) Math.min(left, end - at);
        at += part;
        left -= part;
        ended = left == 0 && afterBody();
      } else {
        ended = took((char) (bytes.getByte(at++) & 0xff));
      }
    }
    return at - bytes.readerIndex();
  }

  /** What is wrong with the request, in words; null if nothing is so far. */
  @Nullable String wrong() {
    return wrong;
  }

  /** Whether a request ends with this character. */
  private boolean took(char c) {
    if (c != '\n') {
      if (line.length() > LONGEST_LINE) {
        state = State.LEFT_TO_DECODER;
      }
      line.append(c);
      return false;
    }
    int end = line.length() - 1;
    if (end < 0 || line.charAt(end) != '\r') {
      wrong = "a line ends with CR and LF";
      return false;
    }
    String text = line.substring(0, end);
    line.setLength(0);
    return took(text);
  }

  private boolean took(String text) {
    switch (state) {
      case FIRST_LINE -> first(text);
      case HEADERS -> {
        if (text.isEmpty()) {
          return headEnded();
        }
        header(text);
      }
      case CHUNK_SIZE -> chunk(text);
      case CHUNK_END -> {
        wrong = text.isEmpty() ? null : "a chunk is as long as it says";
        state = State.CHUNK_SIZE;
      }
      case TRAILERS -> {
        if (text.isEmpty()) {
          state = State.FIRST_LINE;
          return true;
        }
        header(text);
        if (coded || length >= 0) {
          wrong = "a trailer says nothing about lengths";
        }
      }
      case BODY, LEFT_TO_DECODER -> throw new IllegalStateException("no line is read here");
    }
    return false;
  }

  private void first(String text) {
    if (text.isEmpty()) {
      return; // clients of old sent an empty line behind a body
    }
    if (!FIRST.matcher(text).matches()) {
      wrong = "a request begins with a method, a path and HTTP/1.1, with one blank between them";
    }
    old = text.endsWith("/1.0");
    length = -1;
    coded = false;
    chunked = false;
    state = State.HEADERS;
  }

  private void header(String text) {
    Matcher header = HEADER.matcher(text);
    if (text.startsWith(" ") || text.startsWith("\t")) {
      wrong = "a header stands on one line";
    } else if (!header.matches()) {
      wrong = "a header is a name, a colon right behind it, and text";
    } else if (header.group(1).equalsIgnoreCase("Content-Length")) {
      String value = text.substring(header.end(1) + 1).strip();
      if (length >= 0 || !LENGTH.matcher(value).matches()) {
        wrong = "a request has one Content-Length, which is a number";
      } else {
        length = Long.parseLong(value);
      }
    } else if (header.group(1).equalsIgnoreCase("Transfer-Encoding")) {
      chunked = !coded && text.substring(header.end(1) + 1).strip().equalsIgnoreCase("chunked");
      coded = true;
    } else if (header.group(1).toLowerCase(Locale.ROOT).startsWith("sec-websocket-key")) {
      wrong =
          "no WebSocket is spoken here"; // of one kind the decoder expects a body without length
    }
  }

  private boolean headEnded() {
    if (coded && length >= 0) {
      wrong = "a request has a Content-Length or a Transfer-Encoding, not both";
    } else if (coded && old) {
      wrong = "HTTP/1.0 has no Transfer-Encoding";
    } else if (coded) {
      length = -1;
      state = chunked ? State.CHUNK_SIZE : State.LEFT_TO_DECODER;
      coded = false;
    } else if (length > 0) {
      left = length;
      state = State.BODY;
    } else {
      state = State.FIRST_LINE;
      return true;
    }
    return false;
  }

  private void chunk(String text) {
    Matcher chunk = CHUNK.matcher(text);
    if (!chunk.matches()) {
      wrong = "a chunk begins with its size, in hexadecimal digits";
      return;
    }
    left = Integer.parseInt(chunk.group(1), 16);
    state = left == 0 ? State.TRAILERS : State.BODY;
  }

  /** Whether the request ends with its body. */
  private boolean afterBody() {
    state = chunked ? State.CHUNK_END : State.FIRST_LINE;
    return !chunked;
  }
}
