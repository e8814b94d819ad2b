package dev.cinch.cli;

import dev.cinch.bag.layout.DataFileName;
import dev.cinch.bag.read.Message;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Prints messages as JSON, one object a line. Not thread-safe. */
final class MessageJson implements MessageSink {
  private final JsonLines out;
  private @Nullable DataFileName file;
  private String fileText = "";
  private @Nullable List<SignedWitness> leases;
  private byte[] leasesText = new byte[0];

  MessageJson(Output out) {
    this.out = new JsonLines(out);
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
    place(out.object(), m.timestamp(), fileText, m.position()).flag("settled", m.settled());
    if (m instanceof Numbered.Sequenced numbered && numbered.sequence() > 0) {
      out.number("sequence", numbered.sequence());
    }
    out.written("leases", leasesText).payload(m.payload()).end();
    return true;
  }

  /** What names a message for ever, wherever it is told of. */
  static JsonLines place(JsonLines out, long timestamp, String file, long position)
      throws IOException {
    return out.text("id", timestamp + "/" + file + "/" + position)
        .time("timestamp", timestamp)
        .text("dataFile", file)
        .number("position", position);
  }

  private static byte[] text(List<SignedWitness> leases) throws IOException {
    var bytes = new ByteArrayOutputStream();
    try (var output = new Output(bytes)) {
      output.write('[');
      boolean first = true;
      for (SignedWitness s : leases) {
        Witness w = s.witness();
        output.text(first ? "{\"name\":" : ",{\"name\":");
        JsonText.string(output, w.name().value());
        output.text(",\"instance\":" + w.instance() + ",\"generation\":" + w.generation());
        output.text(",\"holder\":");
        JsonText.string(output, w.holder());
        output.text(",\"correlation\":\"" + w.correlation() + "\"}");
        first = false;
      }
      output.write(']');
    }
    return bytes.toByteArray();
  }
}
