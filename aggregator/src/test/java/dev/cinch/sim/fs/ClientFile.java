package dev.cinch.sim.fs;

import dev.cinch.bag.fs.StoreFile;
import dev.cinch.lease.sim.Rng;
import dev.cinch.sim.fs.ClientCache.Data;
import dev.cinch.sim.fs.ClientCache.Piece;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An open file of a process. What is written waits in the client until force or close, or leaves
 * earlier in pieces; what was sent is sent again if the server rebooted before it was forced.
 */
final class ClientFile implements StoreFile, Gate.Killable {
  /** How long data that an error left in doubt may still be on its way. */
  private static final long LATEST_NANOS = 4_000_000_000L;

  private static final int MOST_PIECES = 4;
  private static final String[] WRITE_ERRORS = {
    "Input/output error", "Stale file handle", "Interrupted system call"
  };

  private final ServerTree server;
  private final ClientCache cache;
  private final Faults faults;
  private final Gate gate;
  private final int user;
  private final ClientFs.Later later;
  private final Path path;
  private final ServerNode node;
  private final boolean writes;
  private final boolean appends;
  private final boolean uncached;
  private final Data data;

  /** What it was opened under without asking the server. */
  private final @Nullable Delegation under;

  /** Written and not yet sent. */
  private final List<Piece> unsent = new ArrayList<>();

  /** Sent and not yet forced. */
  private final List<Piece> unforced = new ArrayList<>();

  private long boots;
  private int position;
  private boolean closed;

  ClientFile(
      ServerTree server,
      ClientCache cache,
      Faults faults,
      Gate gate,
      int user,
      ClientFs.Later later,
      Path path,
      ServerNode node,
      boolean writes,
      boolean appends,
      boolean uncached) {
    this.server = server;
    this.cache = cache;
    this.faults = faults;
    this.gate = gate;
    this.user = user;
    this.later = later;
    this.path = path;
    this.node = node;
    this.writes = writes;
    this.appends = appends;
    this.uncached = uncached;
    this.data = cache.revalidated(node);
    this.under = cache.delegation(node);
    this.boots = server.boots();
    this.position = !appends ? 0 : under != null ? data.size : node.bytes.length;
    gate.opened(this);
    if (server.kind() == FsKind.NFS) {
      node.open.add(this);
    }
  }

  ServerNode node() {
    return node;
  }

  boolean isOf(ClientCache client) {
    return client == cache;
  }

  boolean writes() {
    return writes;
  }

  @Override
  public void write(ByteBuffer... buffers) throws IOException {
    gate.enter(Op.WRITE, path);
    if (!writes || closed) {
      throw new IllegalStateException("not open for writing: " + path);
    }
    if (faults.strike(FaultKind.NO_SPACE) || faults.isFull(path, gate.now())) {
      throw failed(Op.WRITE, noSpace(buffers));
    }
    if (server.kind() == FsKind.GLUSTER && isReadOnly()) {
      throw failed(Op.WRITE, ClientFs.inputOutput(path, "Bad file descriptor"));
    }
    for (ByteBuffer b : buffers) {
      var bytes = new byte[b.remaining()];
      b.get(bytes);
      take(bytes);
    }
    if (server.kind() == FsKind.LOCAL) {
      sendAll();
    } else if (faults.strike(FaultKind.PIECES)) {
      sendSome();
    }
    gate.leave(Op.WRITE, path);
  }

  private IOException noSpace(ByteBuffer... buffers) {
    Rng rng = faults.rng();
    for (ByteBuffer b : buffers) {
      var part = new byte[rng.below(b.remaining() + 1)];
      b.get(part);
      take(part);
      if (b.hasRemaining()) {
        break;
      }
    }
    sendAll();
    return ClientFs.noSpace(path, rng);
  }

  /** Puts bytes where the handle stands, cut into pieces that may reach the server one by one. */
  private void take(byte[] bytes) {
    if (appends) {
      position = Math.max(position, cache.dirtyEnd(node));
    }
    int cuts = server.kind() == FsKind.LOCAL ? 1 : cuts(bytes.length);
    int from = 0;
    for (int i = 1; i <= cuts; i++) {
      int to = (int) ((long) bytes.length * i / cuts);
      if (to > from) {
        byte[] part = cuts == 1 ? bytes : java.util.Arrays.copyOfRange(bytes, from, to);
        var piece = new Piece(position + from, part);
        unsent.add(piece);
        cache.addDirty(node, piece);
        from = to;
      }
    }
    position += bytes.length;
  }

  private int cuts(int length) {
    return length < 64 || !faults.has(FaultKind.PIECES) ? 1 : faults.rng().between(1, MOST_PIECES);
  }

  private boolean isReadOnly() {
    return user != 0 && (node.mode & 0222) == 0;
  }

  private void send(Piece piece) {
    server.write(node, piece.offset(), piece.bytes());
    cache.clean(node, piece);
    cache.drop(node);
    cache.forget(path); // the reply to a write carries attributes
    if (cache.delegation(node) != null) {
      data.size = Math.max(data.size, piece.end());
      data.changeTime = node.changeTime;
    }
    unforced.add(piece);
  }

  private void sendAll() {
    for (Piece p : unsent) {
      send(p);
    }
    unsent.clear();
  }

  private void sendSome() {
    int count = faults.rng().below(unsent.size() + 1);
    for (int i = 0; i < count; i++) {
      send(unsent.remove(faults.rng().below(unsent.size())));
    }
  }

  /** Sends what is left, possibly out of order, letting others see each piece. */
  private void flush(Op op) throws IOException {
    if (unsent.isEmpty()) {
      return;
    }
    boolean lost = under != null && under.revoked;
    boolean fails = lost || faults.strike(FaultKind.WRITE_ERROR);
    boolean rejected = server.kind() == FsKind.GLUSTER && isReadOnly();
    boolean stale = server.kind() == FsKind.NFS && node.links == 0;
    if (unsent.size() > 1) {
      Collections.shuffle(unsent, new java.util.Random(faults.rng().nextLong()));
    }
    int count = fails ? faults.rng().below(unsent.size() + 1) : unsent.size();
    if (rejected || stale || lost) {
      count = 0;
    }
    for (int i = 0; i < count; i++) {
      if (i > 0) {
        gate.enter(Op.FLUSH, path);
      }
      if (unsent.isEmpty()) {
        break;
      }
      send(unsent.remove(unsent.size() - 1));
    }
    if (fails || rejected || stale) {
      if (under != null && under.revoked) {
        cache.end(under);
      }
      drop(fails && !rejected && !stale && !lost);
      String why =
          stale
              ? "Stale file handle"
              : rejected ? "Bad file descriptor" : WRITE_ERRORS[faults.rng().below(3)];
      throw failed(op, ClientFs.inputOutput(path, why));
    }
  }

  /** What an error leaves: each piece is lost, or still on its way. */
  private void drop(boolean maybeLate) {
    for (Piece p : unsent) {
      cache.clean(node, p);
      if (maybeLate && faults.rng().oneIn(2)) {
        arriveLater(p);
      }
    }
    unsent.clear();
    unforced.clear();
  }

  private void arriveLater(Piece p) {
    later.in(
        faults.rng().oneIn(2)
            ? faults.rng().spread(100_000, LATEST_NANOS)
            : faults.rng().nextLong(LATEST_NANOS / 2),
        () -> {
          if (node.links > 0) {
            server.write(node, p.offset(), p.bytes());
          }
        });
  }

  private IOException failed(Op op, IOException e) {
    gate.failed(op, path, e);
    return e;
  }

  @Override
  public void force() throws IOException {
    gate.enter(Op.FORCE, path);
    Delegation held = cache.delegation(node);
    if (held != null) {
      unsent.addAll(0, held.kept);
      held.kept.clear();
    }
    flush(Op.FORCE);
    if (boots != server.boots()) {
      for (Piece p : unforced) {
        server.write(node, p.offset(), p.bytes());
      }
      boots = server.boots();
    }
    node.committed = node.bytes;
    unforced.clear();
    gate.leave(Op.FORCE, path);
  }

  @Override
  public int read(ByteBuffer into, long offset) throws IOException {
    gate.enter(Op.READ, path);
    if (faults.strike(FaultKind.READ_ERROR)) {
      throw failed(Op.READ, ClientFs.inputOutput(path, "Input/output error"));
    }
    if (server.kind() == FsKind.NFS && node.links == 0 && data.bytes == null) {
      throw failed(Op.READ, ClientFs.inputOutput(path, "Stale file handle"));
    }
    byte[] bytes = visible();
    int limit = (int) Math.min(bytes.length, size());
    int count = (int) Math.max(0, Math.min(into.remaining(), limit - offset));
    into.put(bytes, (int) Math.min(offset, limit), count);
    return count;
  }

  private byte[] visible() {
    Delegation held = cache.delegation(node);
    if (held != null && held.revoked && (uncached || data.bytes == null)) {
      cache.end(held); // the server refuses a read under it
      cache.revalidated(node);
      held = null;
    }
    if (uncached) {
      if (held != null) {
        held.kept.clear();
      }
      for (Piece p : List.copyOf(cache.dirty(node))) {
        server.write(node, p.offset(), p.bytes()); // a direct read writes out what is buffered
        cache.clean(node, p);
      }
      return node.bytes;
    }
    if (server.kind() == FsKind.LOCAL) {
      return node.bytes;
    }
    byte[] bytes = data.bytes;
    if (bytes == null) {
      bytes = node.bytes;
      if (bytes.length > 0 && mayGoBad() && faults.strike(FaultKind.BAD_PAGE)) {
        bytes = bad(bytes);
      }
      data.bytes = bytes;
    }
    for (Piece p : cache.dirty(node)) {
      bytes = ServerNode.put(bytes, p.offset(), p.bytes());
    }
    return bytes;
  }

  /** Only what carries a checksum and is not the store's own description. */
  private boolean mayGoBad() {
    String name = String.valueOf(path.getFileName());
    return name.endsWith(".log") || name.equals("lock") || path.toString().contains("/records/");
  }

  private byte[] bad(byte[] bytes) {
    byte[] copy = bytes.clone();
    int from = faults.rng().below(copy.length);
    int to = Math.min(copy.length, from + faults.rng().between(1, 64));
    java.util.Arrays.fill(copy, from, to, (byte) 0);
    return copy;
  }

  @Override
  public long size() {
    if (uncached || server.kind() == FsKind.LOCAL) {
      return node.bytes.length;
    }
    return Math.max(data.size, cache.dirtyEnd(node));
  }

  @Override
  public void close() throws IOException {
    if (closed) {
      return;
    }
    closed = true;
    leave();
    if (!writes) {
      gate.closed(this);
      return; // nothing can go wrong, and nobody else learns of it
    }
    gate.enter(Op.CLOSE, path);
    Delegation held = cache.delegation(node);
    if (held != null && held.writes && !held.revoked) {
      keep(held);
    } else {
      flush(Op.CLOSE);
    }
    gate.closed(this);
    gate.leave(Op.CLOSE, path);
  }

  /** The last one of this client removes what was removed while it was open. */
  private void leave() {
    node.open.remove(this);
    if (node.open.stream().noneMatch(f -> f.isOf(cache))) {
      Path aside = cache.endAside(node);
      if (aside != null) {
        new Recaller(server, faults).recallParent(aside, cache);
        server.removeIfThere(aside, node);
      }
    }
  }

  /** With a delegation for writing nobody needs to see it yet; it leaves a while later. */
  private void keep(Delegation held) {
    for (Piece p : unsent) {
      held.kept.add(p);
      later.in(
          faults.rng().spread(100_000, LATEST_NANOS),
          () -> {
            if (held.kept.remove(p)) {
              server.write(node, p.offset(), p.bytes());
              cache.clean(node, p);
              data.size = Math.max(data.size, p.end());
            }
          });
    }
    unsent.clear();
  }

  /** Its process never learnt that it has it. */
  void abandon() {
    closed = true;
    leave();
    gate.closed(this);
  }

  /** What the kernel does about the buffers of a process that was killed. */
  @Override
  public void killed(boolean machineToo) {
    leave();
    for (Piece p : unsent) {
      cache.clean(node, p);
      boolean lost = machineToo && faults.rng().oneIn(2);
      if (!lost) {
        arriveLater(p);
      }
    }
    unsent.clear();
  }
}
