package dev.cinch.examples;

import java.io.BufferedReader;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/** One Python process that reads a store with {@code reader.py} as often as it is asked. */
final class PythonReader implements Closeable {
  private static final String LOOP =
      """
      import contextlib, io, sys
      sys.path.insert(0, ".")
      import reader
      for line in sys.stdin:
          with contextlib.redirect_stderr(io.StringIO()) as told:
              try:
                  all = [repr(m) for m in reader.Log(line.strip(), "jobs").messages()]
                  answer = [f"= {len(all)} {told.getvalue()!r}"] + all
              except (reader.Damaged, OSError) as e:
                  answer = [f"error {str(e)!r}"]
              except BaseException as e:
                  answer = [f"fault {e!r}"]
          print(reader.sha256("".join(answer).encode()), answer[0], flush=True)
      """;

  /** What it says of a store that is damaged. */
  static final class Told extends IOException {
    private static final long serialVersionUID = 1;

    private Told(String message) {
      super(message);
    }
  }

  private final Process process;
  private final BufferedReader answers;
  private final OutputStream questions;

  PythonReader() throws IOException {
    process =
        new ProcessBuilder("python3", "-c", LOOP)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    answers =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    questions = process.getOutputStream();
  }

  /**
   * What it reads of the log {@code jobs}, in one line: a digest, and how many messages there are.
   *
   * @throws Told if it said that the store is damaged
   */
  List<String> read(Path store) throws IOException {
    questions.write((store + "\n").getBytes(StandardCharsets.UTF_8));
    questions.flush();
    String answer = answers.readLine();
    if (answer == null) {
      throw new EOFException("python3 ended");
    }
    if (answer.contains(" error ")) {
      throw new Told(answer);
    }
    return List.of(answer);
  }

  @Override
  public void close() {
    process.destroy();
  }
}
