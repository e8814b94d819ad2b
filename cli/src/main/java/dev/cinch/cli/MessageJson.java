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
  private final Output out;
  private @Nullable DataFileName file;
  private String fileText = "";
  private @Nullable List<SignedWitness> leases;
  private byte[] leasesText = new byte[0];

  MessageJson(Output out) {
    this.out = out;
  }

  @Override
  public boolean accept(Message m) throws IOException {
    if (m.file() != file) { // by identity: a bucket's cursor always gives the same
      file = m.file();
      fileText = m.file().toString();
    }
    out.text(
        "{\"timestamp\":"
            + m.timestamp()
            + ",\"file\":\""
            + fileText
            + "\",\"position\":"
            + m.position()
            + ",\"settled\":"
            + m.settled()
            + ",\"leases\":");
    List<SignedWitness> now = m.leases();
    if (now != leases) {
      leases = now;
      leasesText = text(now);
    }
    out.write(leasesText, 0, leasesText.length);
    out.write(',');
    JsonText.payload(out, m.payload());
    out.text("}\n");
    return true;
  }

  private static byte[] text(List<SignedWitness> leases) throws IOException {
    var bytes = new ByteArrayOutputStream();
    try (var text = new Output(bytes)) {
      text.write('[');
      String comma = "";
      for (SignedWitness s : leases) {
        Witness w = s.witness();
        text.text(comma + "{\"name\":");
        JsonText.string(text, w.name().value());
        text.text(",\"instance\":" + w.instance() + ",\"generation\":" + w.generation());
        text.text(",\"holder\":");
        JsonText.string(text, w.holder());
        text.text(",\"correlation\":\"" + w.correlation() + "\"}");
        comma = ",";
      }
      text.write(']');
    }
    return bytes.toByteArray();
  }
}
