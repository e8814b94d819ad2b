package dev.cinch.cli.append;

import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.cli.base.JsonLines;
import dev.cinch.cli.base.MessageJson;
import dev.cinch.cli.base.Output;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;

/** Counts what became of the lines of an input, and prints receipts. Not thread-safe. */
final class LineFates {
  /** So many ranges are named; more of them no terminal shows. */
  private static final int MAX_TOLD = 20;

  private final @Nullable Output receipts;
  private final @Nullable JsonLines json;
  private @Nullable Inputs inputs;
  private final List<Range> failedLines = new ArrayList<>();
  private long committed;
  private long earlier;
  private long failed;
  private long unknown;
  private long latest = Long.MIN_VALUE;
  private String firstReason = "";
  private final List<Range> unknownLines = new ArrayList<>();
  private String unknownReason = "";
  private @Nullable DataFileName lastFile;
  private String lastFileText = "";

  /**
   * @param receipts where to print a receipt a line; null: nowhere
   */
  LineFates(@Nullable Output receipts) {
    this.receipts = receipts;
    this.json = receipts == null ? null : new JsonLines(receipts);
  }

  /** Lines are of these from now on. */
  void of(Inputs lines) {
    inputs = lines;
  }

  /** Where a line is, in words. */
  String place(long line) {
    return inputs == null ? Long.toString(line) : inputs.place(line);
  }

  /** Begins a receipt. */
  private JsonLines receipt(JsonLines to, long line, String state) throws IOException {
    JsonLines begun = to.object();
    Inputs of = inputs;
    if (of != null && of.areSeveral()) {
      begun.text("input", of.name(line)).number("line", of.number(line));
    } else {
      begun.number("line", line);
    }
    return begun.text("state", state);
  }

  /**
   * A line is in the log.
   *
   * @param before whether it was when this began
   */
  void committed(long line, Receipt.Committed c, boolean before) throws IOException {
    latest = Math.max(latest, c.timestamp());
    if (before) {
      earlier++;
    } else {
      committed++;
    }
    if (json == null) {
      return;
    }
    if (!c.file().equals(lastFile)) {
      lastFile = c.file();
      lastFileText = c.file().toString();
    }
    JsonLines unused = receipt(json, line, "COMMITTED");
    if (before) {
      json.flag("earlier", true);
    }
    MessageJson.place(json, c.timestamp(), lastFileText, c.position())
        .time("bucketStart", c.bucket().start())
        .end();
  }

  /** A line is not, and never will be. */
  void failed(long line, String state, String why) throws IOException {
    if (failed++ == 0) {
      firstReason = why;
    }
    add(failedLines, line);
    if (json != null) {
      receipt(json, line, state).text("reason", why).end();
    }
  }

  /** Nobody knows whether a line is in the log, or will be. */
  void unknown(long line, String why) throws IOException {
    unknown++;
    unknownReason = why;
    add(unknownLines, line);
    if (json != null) {
      receipt(json, line, "UNKNOWN").text("reason", why).end();
    }
  }

  void flush() throws IOException {
    if (receipts != null) {
      receipts.flush();
    }
  }

  /** Messages that were appended and are in the log. */
  long committed() {
    return committed;
  }

  /** Messages of the input that were there before. */
  long earlier() {
    return earlier;
  }

  /** Messages that are not in the log and never will be. */
  long failed() {
    return failed;
  }

  /** Messages of which nobody knows whether they are in the log. */
  long unknown() {
    return unknown;
  }

  /** The highest timestamp of what is in the log; {@link Long#MIN_VALUE} if nothing is. */
  long latest() {
    return latest;
  }

  /** In words, where there may be more. */
  String soFar() {
    return failed > 0
        ? failures()
        : committed + (committed == 1 ? " message was committed" : " messages were committed");
  }

  /** In words. */
  String summary() {
    return failures()
        + (unknown == 0
            ? ""
            : "; the fate of %d is unknown (%s): %s"
                .formatted(unknown, lines(unknownLines, unknown), unknownReason))
        + (earlier == 0 ? "" : "; " + earlier + " were there before");
  }

  private String failures() {
    return failedLines.isEmpty()
        ? committed + (committed == 1 ? " message committed" : " messages committed")
        : "%d of %d messages not appended (%s): %s"
            .formatted(failed, failed + committed, lines(failedLines, failed), firstReason);
  }

  /** Lines from one through another. */
  private record Range(long first, long last) {
    long size() {
      return last - first + 1;
    }
  }

  /** A full disk leaves thousands of lines that follow each other: they are one range. */
  private static void add(List<Range> ranges, long line) {
    int end = ranges.size() - 1;
    if (end >= 0 && ranges.get(end).last == line - 1) {
      ranges.set(end, new Range(ranges.get(end).first, line));
    } else if (ranges.size() < MAX_TOLD) {
      ranges.add(new Range(line, line));
    }
  }

  private String lines(List<Range> some, long all) {
    var text = new StringJoiner(", ", all == 1 ? "line " : "lines ", "");
    long told = 0;
    for (Range range : some) {
      told += range.size();
      text.add(
          place(range.first)
              + switch ((int) Math.min(range.size(), 3)) {
                case 1 -> "";
                case 2 -> ", " + place(range.last);
                default -> " to " + place(range.last);
              });
    }
    return text + (all > told ? ", …" : "");
  }
}
