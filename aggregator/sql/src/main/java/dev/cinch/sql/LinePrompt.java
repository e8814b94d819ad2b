package dev.cinch.sql;

import dev.cinch.view.SqlEngine.Prompt;
import java.io.IOException;
import java.nio.file.Path;
import org.jline.reader.EndOfFileException;
import org.jline.reader.LineReader;
import org.jline.reader.LineReaderBuilder;
import org.jline.reader.UserInterruptException;
import org.jline.terminal.Terminal;
import org.jline.terminal.TerminalBuilder;
import org.jspecify.annotations.Nullable;

/** JLine: edits lines, and keeps a history. Not thread-safe. */
final class LinePrompt implements Prompt {
  private final Terminal terminal;
  private final LineReader reader;

  LinePrompt(@Nullable Path history) throws IOException {
    terminal = TerminalBuilder.builder().system(true).nativeSignals(true).build();
    LineReaderBuilder builder =
        LineReaderBuilder.builder()
            .terminal(terminal)
            .option(LineReader.Option.DISABLE_EVENT_EXPANSION, true)
            .option(LineReader.Option.BRACKETED_PASTE, false);
    if (history != null) {
      builder.variable(LineReader.HISTORY_FILE, history);
    }
    reader = builder.build();
  }

  @Override
  public @Nullable String line(String before) {
    try {
      return reader.readLine(before);
    } catch (UserInterruptException e) {
      return "";
    } catch (EndOfFileException e) {
      return null;
    }
  }

  @Override
  public void onInterrupt(Runnable action) {
    terminal.handle(Terminal.Signal.INT, signal -> action.run());
  }

  @Override
  public void close() throws IOException {
    terminal.close();
  }
}
