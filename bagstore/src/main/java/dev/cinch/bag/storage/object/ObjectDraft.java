package dev.cinch.bag.storage.object;

import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.Storage.Draft;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A document on its way: an object, or the parts that its object will name (rule O9). */
final class ObjectDraft implements Draft {
  private final Requests requests;
  private final Name document;
  private final Id id;
  private final int each;

  /** What no part has yet. */
  private final List<ByteBuffer> held = new ArrayList<>();

  private int bytesHeld;
  private int parts;
  private long size;
  private boolean asked;

  /**
   * @param each bytes that a part has; {@link Integer#MAX_VALUE} for what must be one object
   */
  ObjectDraft(Requests requests, Name document, Id id, int each) {
    this.requests = requests;
    this.document = document;
    this.id = id;
    this.each = each;
  }

  @Override
  public void write(ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      if (bytesHeld == each) {
        putPart();
      }
      var copy = new byte[Math.min(bytes.remaining(), each - bytesHeld)];
      bytes.get(copy);
      held.add(ByteBuffer.wrap(copy));
      bytesHeld += copy.length;
      size += copy.length;
    }
  }

  private void putPart() throws IOException {
    // Nobody else has this name, so what is there is this part.
    boolean unused = requests.put(Parts.part(document, id, ++parts), body());
    held.clear();
    bytesHeld = 0;
  }

  private ByteBuffer[] body() {
    return held.toArray(ByteBuffer[]::new);
  }

  @Override
  public void finish() throws IOException {
    if (parts > 0) {
      putPart();
    }
  }

  @Override
  public boolean publish(Name name) throws IOException {
    asked = true;
    if (parts == 0) {
      return requests.put(name, body());
    }
    boolean made = requests.put(name, ByteBuffer.wrap(new Parts(id, each, size).encode()));
    sweepOthers();
    return made;
  }

  /** The parts of drafts that come too late for ever, also of the killed. */
  private void sweepOthers() {
    try {
      byte[] there = requests.get(document, 0, Parts.MAX_BYTES + 1).bytes();
      Optional<Name> stays = Parts.decode(there, document).map(p -> Parts.place(document, p.id()));
      for (Name part : requests.beginning(Parts.anyOf(document))) {
        if (stays.filter(part.parent()::equals).isEmpty()) {
          requests.delete(part);
        }
      }
    } catch (IOException e) {
      // They go with the document.
    }
  }

  /** Once its publishing was asked for nobody knows whether it comes yet: then its parts stay. */
  @Override
  public void close() {
    try {
      for (int part = 1; part <= parts && !asked; part++) {
        requests.delete(Parts.part(document, id, part));
      }
    } catch (IOException e) {
      // They go with the document.
    }
  }
}
