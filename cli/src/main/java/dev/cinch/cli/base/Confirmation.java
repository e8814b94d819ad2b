package dev.cinch.cli.base;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Asks for a name twice before something is deleted for good. */
public final class Confirmation {
  private static final int LONGEST_ANSWER = 200;

  private Confirmation() {}

  /**
   * Returns if the user means it.
   *
   * @param yes what {@code --yes} gave in place of the answers; null if it was left out
   * @param question what is deleted, as the first question begins
   * @throws Misuse if there is no terminal to ask on, or {@code --yes} names something else
   * @throws Failure.Refusal if an answer is another name
   */
  public static void ask(Io io, String name, @Nullable String yes, String question)
      throws IOException {
    if (yes != null) {
      if (!yes.equals(name)) {
        throw new Misuse("--yes names " + yes + ", not " + name);
      }
      return;
    }
    if (!io.terminal()) {
      throw new Misuse("without a terminal to ask on, give the name twice: --yes " + name);
    }
    ask(io, name, question + " Its name: ");
    ask(io, name, "Its name once more: ");
  }

  private static void ask(Io io, String name, String question) throws IOException {
    io.err().print(question);
    io.err().flush();
    var answer = new StringBuilder();
    int b = io.in().read();
    while (b >= 0 && b != '\n' && answer.length() < LONGEST_ANSWER) {
      answer.append((char) b);
      b = io.in().read();
    }
    String text =
        new String(answer.toString().getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
    if (!text.strip().equals(name)) {
      throw new Failure.Refusal("that is not the name; nothing was removed");
    }
  }
}
