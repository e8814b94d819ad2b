package dev.cinch.bag.registry;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Numbered;
import dev.cinch.bag.registry.InstanceFile.Line;
import dev.cinch.bag.registry.ServiceNames.ServerEntry;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * Where the servers of one instance are. The one that took the number left its address in the file
 * of the number. Each other one that serves the instance leaves its own in a file beside it, unless
 * it is known. All of it is a hint for people and clients. A file that is cut short says nothing,
 * and takes no other one's place. Thread-safe.
 */
@CheckReturnValue
public final class InstanceServers {
  private final StoreContext store;
  private final Statements statements;
  private final long number;

  /** What stands beside the numbers. */
  private final List<String> names;

  InstanceServers(StoreContext store, Statements statements, long number, List<String> names) {
    this.store = store;
    this.statements = statements;
    this.number = number;
    this.names = names;
  }

  /**
   * Makes a server known that serves an instance.
   *
   * @param number of the instance, from 1
   * @param by a key of the store, or of a node of the cell
   * @return whether it is known now: not if there are too many, or their addresses are too long
   */
  public static boolean join(StoreContext store, long number, InstanceFile here, SigningKey by)
      throws IOException {
    Name directory = store.layout().instances();
    store.requireSame();
    var statements = new Statements(store);
    var servers =
        new InstanceServers(
            store, statements, number, store.storage().list(directory, Freshness.CERTAIN));
    Optional<InstanceFile> known = servers.where();
    if (known.map(k -> k.names(here)).orElse(false)) {
      return true;
    }
    if (known.isPresent() && known.get().with(here).isEmpty()) {
      return false;
    }
    for (int next = servers.last() + 1; next <= ServerEntry.MOST; next++) {
      // Else another server joins at this moment, or our own request was sent twice: a gap, or the
      // same address twice, does no harm.
      if (leave(store, statements, new ServerEntry(number, next).toString(), here.words(), by)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Leaves a line, signed, in a file of an instance.
   *
   * @return whether this made it
   */
  static boolean leave(
      StoreContext store, Statements statements, String name, String words, SigningKey by)
      throws IOException {
    Name directory = store.layout().instances();
    var line = new Line(words, statements.sign(by, directory, name + " " + words));
    return store.publish(directory.resolve(name), line.encode());
  }

  private List<ServerEntry> entries() {
    return names.stream()
        .flatMap(name -> ServerEntry.parse(name).stream())
        .filter(entry -> entry.instance() == number)
        .sorted(Comparator.comparingInt(ServerEntry::server))
        .toList();
  }

  private int last() {
    return entries().stream().mapToInt(ServerEntry::server).max().orElse(0);
  }

  /** All addresses, in the order in which they were left; empty if there are none. */
  Optional<InstanceFile> where() {
    Optional<InstanceFile> all = read(Numbered.name(number));
    for (ServerEntry entry : entries()) {
      Optional<InstanceFile> one = read(entry.toString());
      if (one.isPresent()) {
        InstanceFile before = all.orElse(one.get());
        all = before.with(one.get()).or(() -> Optional.of(before));
      }
    }
    return all;
  }

  /** Whether a file of the instance holds a line that a key of the store signed. */
  boolean isSigned(String name) {
    return line(name).isPresent();
  }

  private Optional<InstanceFile> read(String name) {
    return line(name).flatMap(Line::where);
  }

  private Optional<Line> line(String name) {
    Name directory = store.layout().instances();
    try {
      Optional<Line> line =
          store
              .storage()
              .read(
                  directory.resolve(name), InstanceFile.MAX_BYTES, Freshness.CACHED, Line::decode);
      return line.isPresent()
              && statements.counts(
                  directory, name + " " + line.get().words(), line.get().signature())
          ? line
          : Optional.empty();
    } catch (IOException e) {
      return Optional.empty(); // it is but a hint
    }
  }
}
