package dev.cinch.lease.server;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** One connection on which a test writes what it likes. */
final class RawClient implements AutoCloseable {
  private static final int PATIENCE_MS = 60_000;

  private final Socket socket = new Socket();
  private final InputStream in;

  /**
   * An answer.
   *
   * @param headers by name in lower case
   */
  record Response(int status, Map<String, String> headers, String body) {
    JsonNode json() throws IOException {
      return new ObjectMapper().readTree(body);
    }
  }

  /** From an address of this machine, such as 127.0.0.7. */
  RawClient(String from, int port) throws IOException {
    socket.bind(new InetSocketAddress(InetAddress.getByName(from), 0));
    socket.setSoTimeout(PATIENCE_MS);
    socket.connect(new InetSocketAddress("127.0.0.1", port));
    in = new BufferedInputStream(socket.getInputStream());
  }

  RawClient(int port) throws IOException {
    this("127.0.0.1", port);
  }

  RawClient send(String text) throws IOException {
    return send(text.getBytes(ISO_8859_1));
  }

  RawClient send(byte[] bytes) throws IOException {
    socket.getOutputStream().write(bytes);
    return this;
  }

  Response get(String path) throws IOException {
    return send("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").response();
  }

  /** In JSON, unless a header says otherwise. */
  Response post(String path, byte[] body, String... headers) throws IOException {
    var head = new StringBuilder("POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n");
    if (Arrays.stream(headers)
        .noneMatch(h -> h.toLowerCase(Locale.ROOT).startsWith("content-type"))) {
      head.append("Content-Type: application/json\r\n");
    }
    for (String header : headers) {
      head.append(header).append("\r\n");
    }
    head.append("Content-Length: ").append(body.length).append("\r\n\r\n");
    return send(head.toString()).send(body).response();
  }

  /** Reads one answer, whose length is given. */
  Response response() throws IOException {
    Response head = headers();
    int length = Integer.parseInt(head.headers().getOrDefault("content-length", "0"));
    return new Response(
        head.status(), head.headers(), new String(in.readNBytes(length), ISO_8859_1));
  }

  /** Reads one answer that has no body, though it may say how long that would be. */
  Response headers() throws IOException {
    String first = line();
    var headers = new TreeMap<String, String>();
    for (String line = line(); !line.isEmpty(); line = line()) {
      int colon = line.indexOf(':');
      headers.put(
          line.substring(0, colon).toLowerCase(Locale.ROOT), line.substring(colon + 1).strip());
    }
    return new Response(Integer.parseInt(first.split(" ")[1]), headers, "");
  }

  private String line() throws IOException {
    var line = new StringBuilder();
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0) {
        throw new EOFException("closed after \"" + line + "\"");
      }
      line.append((char) c);
    }
    return line.toString().strip();
  }

  /** Waits until the other side has closed it; false if it says something instead. */
  boolean isClosed() throws IOException {
    try {
      return in.read() < 0;
    } catch (java.net.SocketException e) {
      return true; // a reset
    }
  }

  /** Says that it has heard the end. */
  void hangUp() throws IOException {
    socket.close();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
