package dev.cinch.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.HexFormat;

/** One process that reads with {@code reader.py} as often as it is asked. */
public final class ReaderPy implements Closeable {
  private static final String LOOP =
      """
      import contextlib, io, sys
      sys.path.insert(0, "../examples")
      import reader
      told = sys.stdout
      for line in sys.stdin:
          sys.stdout = io.TextIOWrapper(io.BytesIO())
          with contextlib.redirect_stderr(io.StringIO()) as err:
              code = reader.main([line.strip(), "jobs"])
          out = sys.stdout.buffer.getvalue().decode("latin1") if code == 0 else err.getvalue()
          print((str(code) + " " + out).encode().hex(), file=told, flush=True)
      """;

  private final Process process;
  private final BufferedReader answers;

  /**
   * @throws IOException if there is no Python
   */
  public ReaderPy() throws IOException {
    process =
        new ProcessBuilder("python3", "-c", LOOP)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    answers = process.inputReader(UTF_8);
  }

  /** Exit code, a space, and what it printed; on standard error if that is not 0. */
  String ask(Path store) throws IOException {
    OutputStream to = process.getOutputStream();
    to.write((store + "\n").getBytes(UTF_8));
    to.flush();
    String answer = answers.readLine();
    if (answer == null) {
      throw new EOFException("reader.py ended with a fault");
    }
    return new String(HexFormat.of().parseHex(answer), UTF_8);
  }

  @Override
  public void close() {
    process.destroy();
  }
}
