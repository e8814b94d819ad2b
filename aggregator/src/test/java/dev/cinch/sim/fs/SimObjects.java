package dev.cinch.sim.fs;

import dev.cinch.bag.storage.object.Objects;
import dev.cinch.bag.storage.object.UnansweredException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * The object store as one process reaches it. Requests and answers are lost, are turned away, and a
 * change may be carried out twice or at any later time, whatever became of its sender.
 *
 * <p>A request is told to the gate as what a filesystem would do there, so that ambushes of worlds
 * with files meet the same points of the protocol.
 */
public final class SimObjects implements Objects {
  /** What an error says that no answer came. */
  public static final String UNANSWERED = "cut off by a bad network";

  private static final long LATEST_NANOS = 600_000_000_000L;

  private final ObjectServer server;
  private final Faults faults;
  private final Gate gate;
  private final ClientFs.Later later;

  public SimObjects(ObjectServer server, Faults faults, Gate gate, ClientFs.Later later) {
    this.server = server;
    this.faults = faults;
    this.gate = gate;
    this.later = later;
  }

  private interface Question<T> {
    T ask() throws IOException;
  }

  private interface Change {
    /** Whether it changed anything. */
    boolean make();
  }

  private static Path path(String key) {
    return Path.of("/" + key);
  }

  /** Whether a request is carried out. */
  private boolean arrives(Op op, Path path) {
    return !faults.failsInAmbush(op, path)
        && !faults.strike(FaultKind.OBJECT_REQUEST_LOST)
        && !faults.strike(FaultKind.OBJECT_TURNED_AWAY);
  }

  private <T> T ask(Op op, String key, Question<T> question) throws IOException {
    Path path = path(key);
    gate.enter(op, path);
    boolean told = !server.isAway(gate.now()) && arrives(op, path);
    Question<T> answer = answer(question);
    gate.leave(op, path);
    gate.enter(Op.ANSWER, path);
    if (!told || faults.strike(FaultKind.OBJECT_ANSWER_LOST)) {
      throw unanswered(op, path);
    }
    return answer.ask();
  }

  private static <T> Question<T> answer(Question<T> question) throws IOException {
    try {
      T answer = question.ask();
      return () -> answer;
    } catch (NoSuchFileException e) {
      return () -> {
        throw e;
      };
    }
  }

  private UnansweredException unanswered(Op op, Path path) {
    var e = new UnansweredException(UNANSWERED);
    gate.failed(op, path, e);
    return e;
  }

  private boolean change(Op op, String key, Change change) throws IOException {
    Path path = path(key);
    boolean sent = false;
    try {
      gate.enter(op, path);
      sent = true;
    } finally {
      if (!sent && faults.has(FaultKind.OBJECT_LATE) && faults.rng().oneIn(2)) {
        later(change); // it was killed while that was under way
      }
    }
    boolean away = server.isAway(gate.now());
    boolean arrives = away ? faults.rng().oneIn(2) : arrives(op, path);
    boolean made = false;
    if (arrives) {
      made = change.make();
      if (faults.strike(FaultKind.OBJECT_TWICE)) {
        made = change.make();
      }
    }
    if (faults.strike(FaultKind.OBJECT_LATE)) {
      later(change);
    }
    gate.leave(op, path);
    gate.enter(Op.ANSWER, path);
    if (away || !arrives || faults.strike(FaultKind.OBJECT_ANSWER_LOST)) {
      throw unanswered(op, path);
    }
    return made;
  }

  private void later(Change change) {
    faults.count(FaultKind.OBJECT_LATE);
    later.in(
        faults.rng().spread(1_000_000, LATEST_NANOS),
        () -> {
          boolean unused = change.make();
        });
  }

  @Override
  public boolean put(String key, ByteBuffer... body) throws IOException {
    int size = Arrays.stream(body).mapToInt(ByteBuffer::remaining).sum();
    ByteBuffer copy = ByteBuffer.allocate(size); // the buffers are used again
    for (ByteBuffer part : body) {
      copy.put(part.duplicate());
    }
    copy.flip();
    try {
      return change(putting(key), key, () -> server.objects().put(key, copy));
    } catch (UnansweredException e) {
      if (faults.rng().oneIn(2)) {
        return false; // as after a 409 or 5xx
      }
      throw e;
    }
  }

  private static Op putting(String key) {
    if (key.contains(".log/")) {
      return Op.WRITE;
    }
    boolean named =
        key.endsWith("/prelock")
            || key.contains("/intents/")
            || key.contains("/ceilings/")
            || key.contains("/instances/");
    return named ? Op.CREATE : Op.LINK;
  }

  @Override
  public Got get(String key, long from, int most) throws IOException {
    Op op = most == 0 ? Op.STATUS : from == 0 ? Op.OPEN_READ : Op.READ;
    return ask(op, key, () -> server.objects().get(key, from, most));
  }

  @Override
  public Listing list(String prefix, String after, boolean places) throws IOException {
    return ask(Op.LIST, prefix, () -> server.objects().list(prefix, after, places));
  }

  @Override
  public void delete(String key) throws IOException {
    boolean unused =
        change(
            Op.UNLINK,
            key,
            () -> {
              server.objects().delete(key);
              return true;
            });
  }
}
