package dev.cinch.cli.base;

import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Prints messages as JSON, one object a line. Not thread-safe. */
public final class MessageJson implements MessageSink {
  private final JsonLines out;
  private final @Nullable Supplier<LogName> log;
  private @Nullable DataFileName file;
  private String fileText = "";
  private @Nullable List<SignedWitness> leases;
  private String leasesText = "";

  /**
   * @param log tells the log of each; null: they need not say
   */
  public MessageJson(Output out, @Nullable Supplier<LogName> log) {
    this.out = new JsonLines(out);
    this.log = log;
  }

  @Override
  public boolean accept(Message m) throws IOException {
    if (m.file() != file) { // by identity: a bucket's cursor always gives the same
      file = m.file();
      fileText = m.file().toString();
    }
    List<SignedWitness> now = m.leases();
    if (now != leases) {
      leases = now;
      leasesText = text(now);
    }
    out.object();
    if (log != null) {
      out.text("log", log.get().value());
    }
    place(out, m.timestamp(), fileText, m.position())
        .flag("settled", m.settled())
        .written("leases", leasesText)
        .payload(m.payload())
        .end();
    return true;
  }

  /** What names a message for ever, wherever it is told of. */
  public static JsonLines place(JsonLines out, long timestamp, String file, long position)
      throws IOException {
    return out.text("id", timestamp + "/" + file + "/" + position)
        .time("timestamp", timestamp)
        .text("dataFile", file)
        .number("position", position);
  }

  private static String text(List<SignedWitness> leases) throws IOException {
    var bytes = new ByteArrayOutputStream();
    try (var output = new Output(bytes)) {
      JsonLines list = new JsonLines(output).list();
      for (SignedWitness s : leases) {
        Witness w = s.witness();
        list.object()
            .text("name", w.name().value())
            .number("instance", w.instance())
            .number("generation", w.generation())
            .text("holder", w.holder())
            .text("correlation", w.correlation().toString())
            .end();
      }
      list.end();
    }
    return bytes.toString(StandardCharsets.UTF_8).strip();
  }
}
