package dev.cinch.cli.read;

import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.cli.base.Output;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.SignedWitness;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Prints messages as CSV, quoted as RFC 4180 says, a line for each behind a header. A payload that
 * is no UTF-8 stands as base64 in a column of its own. Not thread-safe.
 */
final class MessageCsv implements MessageSink {
  private static final long NANOS = 1_000_000_000L;

  private final Output out;
  private final Supplier<LogName> log;
  private long second = Long.MIN_VALUE;
  private String secondText = "";

  /**
   * @param log tells the log of each
   */
  MessageCsv(Output out, Supplier<LogName> log) throws IOException {
    this.out = out;
    this.log = log;
    out.line("time,log,leases,file,position,payload,payloadBase64");
  }

  @Override
  public boolean accept(Message m) throws IOException {
    byte[] bytes = m.payload();
    String text = new String(bytes, StandardCharsets.UTF_8);
    boolean isText = Arrays.equals(text.getBytes(StandardCharsets.UTF_8), bytes);
    out.line(
        String.join(
            ",",
            time(m.timestamp()),
            log.get().value(),
            quoted(names(m.leases())),
            m.file().toString(),
            Long.toString(m.position()),
            isText ? quoted(text) : "",
            isText ? "" : Base64.getEncoder().encodeToString(bytes)));
    return true;
  }

  private String time(long nanos) {
    long now = Math.floorDiv(nanos, NANOS);
    if (now != second) {
      second = now;
      secondText = IsoTime.second(now) + ".";
    }
    return secondText + Long.toString(NANOS + Math.floorMod(nanos, NANOS)).substring(1) + "Z";
  }

  private static String names(List<SignedWitness> leases) {
    return leases.stream().map(s -> s.witness().name().value()).collect(Collectors.joining(" "));
  }

  /** A field, quoted where it has to be. */
  static String quoted(String text) {
    boolean plain = text.chars().noneMatch(c -> c == '"' || c == ',' || c == '\n' || c == '\r');
    return plain ? text : '"' + text.replace("\"", "\"\"") + '"';
  }
}
