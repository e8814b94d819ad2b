package dev.cinch.cli.append;

import dev.cinch.bag.model.Receipt;
import org.jspecify.annotations.Nullable;

/** Lines of one read, and what was said when they were handed over. */
record Sent(
    LineReader.Lines lines,
    AppendJob.@Nullable Pending[] pending,
    @Nullable String[] why,
    @Nullable Receipt[] before) {
  static final Sent END = of(new LineReader.Lines(new byte[0], 0), new @Nullable Receipt[0]);

  /**
   * @param before of lines that were appended before; empty: none was
   */
  static Sent of(LineReader.Lines lines, @Nullable Receipt[] before) {
    int n = lines.count();
    return new Sent(lines, new AppendJob.@Nullable Pending[n], new @Nullable String[n], before);
  }

  @Nullable Receipt earlier(int i) {
    return i < before.length ? before[i] : null;
  }
}
