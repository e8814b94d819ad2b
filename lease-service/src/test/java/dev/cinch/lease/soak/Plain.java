package dev.cinch.lease.soak;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;

/** One connection to the server, on which is written what no client would write. */
final class Plain implements AutoCloseable {
  private static final int PATIENCE_MS = 20_000;

  private final Socket socket = new Socket();

  Plain(URI server) throws IOException {
    socket.setSoTimeout(PATIENCE_MS);
    socket.connect(new InetSocketAddress(server.getHost(), server.getPort()), PATIENCE_MS);
  }

  void send(String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(ISO_8859_1));
  }

  void post(String path, String contentType, String body) throws IOException {
    send(
        "POST "
            + path
            + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
            + contentType
            + "\r\nContent-Length: "
            + body.length()
            + "\r\n\r\n"
            + body);
  }

  /** The status of the next answer, whose rest is left; 0 if there was none. */
  int status() throws IOException {
    InputStream in = socket.getInputStream();
    String head = new String(in.readNBytes("HTTP/1.1 200".length()), ISO_8859_1);
    int space = head.indexOf(' ');
    return space < 0 ? 0 : Integer.parseInt(head.substring(space + 1));
  }

  /** Without a word, as a machine that loses its power and is replaced: the server gets a reset. */
  void drop() throws IOException {
    socket.setSoLinger(true, 0);
    socket.close();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
