package dev.cinch.sim.fs;

import dev.cinch.bag.fs.FileStatus;
import dev.cinch.sim.fs.ClientCache.Piece;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A server's promise to one client that it will hear before others change a file, or even see it.
 * Until then the client answers opens and attributes by itself; with one for writing it keeps what
 * was closed, and with one for a directory it answers listings and looks for names. A client that
 * does not answer loses it, and learns of that later.
 */
final class Delegation {
  final ClientCache holder;
  final ServerNode node;
  final Path path;
  final boolean writes;

  /** As it was when the server gave the delegation. */
  final FileStatus status;

  /** Closed, and not sent. */
  final List<Piece> kept = new ArrayList<>();

  boolean revoked;

  /** How many more answers of the server the holder gets before it acts on the revocation. */
  int unnoticed;

  Delegation(ClientCache holder, ServerNode node, Path path, boolean writes, FileStatus status) {
    this.holder = holder;
    this.node = node;
    this.path = path;
    this.writes = writes;
    this.status = status;
  }
}
