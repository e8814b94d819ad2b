package dev.cinch.sim.fs;

import dev.cinch.bag.fs.FileStatus;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What the kernel of one client machine remembers; all processes of the machine share it. */
public final class ClientCache {
  /** How long attributes and negative entries are believed, nanoseconds. */
  static final long EXPIRY_NANOS = 60_000_000_000L;

  private final Map<Path, Attributes> attributes = new HashMap<>();
  private final Set<Path> missing = new HashSet<>();
  private final Map<Path, Listing> listings = new HashMap<>();
  private final Map<ServerNode, Data> data = new IdentityHashMap<>();
  private final Map<ServerNode, List<Piece>> dirty = new IdentityHashMap<>();
  private final Map<ServerNode, Delegation> delegations = new IdentityHashMap<>();
  private final Map<Path, Delegation> byPath = new HashMap<>();

  /** Removed here while open here: the names under which they stay until that is over. */
  private final Map<ServerNode, Path> laidAside = new IdentityHashMap<>();

  /** Revoked, and it does not know. */
  private final List<Delegation> lost = new ArrayList<>();

  /** Data that a client has and the server has not. */
  record Piece(int offset, byte[] bytes) {
    int end() {
      return offset + bytes.length;
    }
  }

  /** Attributes of a path, or that it is missing from a directory that was as it was then. */
  record Attributes(
      @Nullable FileStatusOf of, long expires, long generation, long directoryChange) {}

  /** A node and its status as it was. */
  record FileStatusOf(ServerNode node, FileStatus status) {}

  /** A directory's names as they were. */
  static final class Listing {
    @Nullable List<String> names;
    @Nullable ServerNode node;
    long changeTime;

    /**
     * Grows whenever the directory was found or made different: older negative entries are void.
     */
    long generation;
  }

  /** A file's data as it was; {@code bytes} is null until something is read. */
  static final class Data {
    byte @Nullable [] bytes;
    long changeTime;
    int size;
  }

  /** The machine stops. */
  public void clear() {
    attributes.clear();
    missing.clear();
    listings.clear();
    data.clear();
    dirty.clear();
    for (Delegation d : delegations.values()) {
      d.revoked = true;
      d.kept.clear();
      d.node.delegations.remove(d);
    }
    delegations.clear();
    byPath.clear();
    lost.clear();
    laidAside.clear(); // these names stay
  }

  void layAside(ServerNode node, Path name) {
    laidAside.put(node, name);
  }

  /** The name under which it stays, if it was laid aside. */
  @Nullable Path aside(ServerNode node) {
    return laidAside.isEmpty() ? null : laidAside.get(node);
  }

  /** One that was laid aside is open no more. */
  @Nullable Path endAside(ServerNode node) {
    return laidAside.isEmpty() ? null : laidAside.remove(node);
  }

  @Nullable Delegation delegation(ServerNode node) {
    return delegations.isEmpty() ? null : delegations.get(node);
  }

  /** One that was given for this name, whatever the name means at the server now. */
  @Nullable Delegation delegation(Path path) {
    return byPath.isEmpty() ? null : byPath.get(path);
  }

  void add(Delegation d) {
    Delegation before = byPath.put(d.path, d);
    if (before != null) { // of a file that had the name
      delegations.remove(before.node);
      before.node.delegations.remove(before);
      lost.remove(before);
    }
    delegations.put(d.node, d);
    d.node.delegations.add(d);
  }

  /** Acts on its end: what it allowed to believe is asked for again. */
  void end(Delegation d) {
    if (delegations.remove(d.node, d)) {
      byPath.remove(d.path);
      lost.remove(d);
      d.node.delegations.remove(d);
      forget(d.path);
      drop(d.node);
      if (d.node.directory()) {
        listing(d.path).names = null; // missing names stay so until somebody lists
      }
    }
  }

  /** The server does not believe that it has it any more. */
  void revoke(Delegation d, int unnoticed) {
    d.revoked = true;
    d.unnoticed = unnoticed;
    for (Piece p : d.kept) {
      clean(d.node, p);
    }
    d.kept.clear();
    lost.add(d);
  }

  /** The server answered, and said that some delegations are no more. */
  void heard() {
    if (!lost.isEmpty()) {
      for (Delegation d : List.copyOf(lost)) {
        if (--d.unnoticed < 0) {
          end(d);
        }
      }
    }
  }

  @Nullable Attributes attributes(Path path) {
    return attributes.get(path);
  }

  void put(Path path, Attributes a) {
    attributes.put(path, a);
    if (a.of() == null) {
      missing.add(path);
    } else if (!missing.isEmpty()) {
      missing.remove(path);
    }
  }

  void forget(Path path) {
    attributes.remove(path);
    if (!missing.isEmpty()) {
      missing.remove(path);
    }
  }

  /** Names of which it remembers that they are missing, whether that is still believed or not. */
  Set<Path> missing() {
    return missing;
  }

  Listing listing(Path directory) {
    return listings.computeIfAbsent(directory, d -> new Listing());
  }

  /** This client changed the directory itself. */
  void changed(@Nullable Path directory) {
    if (directory != null) {
      Listing listing = listing(directory);
      listing.names = null;
      listing.generation++;
    }
  }

  /** The cached data after an open: kept only if the file looks unchanged. */
  Data revalidated(ServerNode node) {
    Data d = data.computeIfAbsent(node, n -> new Data());
    if (delegation(node) != null) {
      return d;
    }
    if (d.changeTime != node.changeTime || d.size != node.bytes.length) {
      d.bytes = null;
      d.changeTime = node.changeTime;
      d.size = node.bytes.length;
    }
    return d;
  }

  void drop(ServerNode node) {
    Data d = data.get(node);
    if (d != null) {
      d.bytes = null;
    }
  }

  List<Piece> dirty(ServerNode node) {
    return dirty.isEmpty() ? List.of() : dirty.getOrDefault(node, List.of());
  }

  void addDirty(ServerNode node, Piece piece) {
    dirty.computeIfAbsent(node, n -> new ArrayList<>()).add(piece);
  }

  void clean(ServerNode node, Piece piece) {
    List<Piece> pieces = dirty.get(node);
    if (pieces != null) {
      pieces.remove(piece);
      if (pieces.isEmpty()) {
        dirty.remove(node);
      }
    }
  }

  /** How long a file is as far as this client knows. */
  long size(ServerNode node) {
    Data d = data.get(node);
    return Math.max(d == null ? 0 : d.size, dirtyEnd(node));
  }

  int dirtyEnd(ServerNode node) {
    int end = 0;
    for (Piece p : dirty(node)) {
      end = Math.max(end, p.end());
    }
    return end;
  }
}
