package dev.cinch.sql;

import dev.cinch.view.SqlEngine;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** DuckDB, in this process, with nothing but logs to read. Thread-safe. */
public final class DuckDbEngine implements SqlEngine {
  @Override
  public Session open(Source source, Limits limits) throws IOException {
    return new DuckDbSession(source, limits);
  }

  @Override
  public Prompt prompt(@Nullable Path history) throws IOException {
    return new LinePrompt(history);
  }
}
