package dev.cinch.sim.fs;

import java.nio.file.Path;
import java.util.List;

/** How the server takes delegations back, before others do what their holders should hear of. */
final class Recaller {
  private final ServerTree server;
  private final Faults faults;

  Recaller(ServerTree server, Faults faults) {
    this.server = server;
    this.faults = faults;
  }

  /**
   * Holders give them back, with what they kept, or don't answer.
   *
   * @param changes what is done; looks concern those alone who may write
   * @param asker who does it
   */
  void recall(ServerNode node, boolean changes, ClientCache asker) {
    if (node.delegations.isEmpty()) {
      return;
    }
    for (Delegation d : List.copyOf(node.delegations)) {
      if (d.revoked || d.holder == asker || !(changes || d.writes)) {
        continue;
      }
      if (faults.strike(FaultKind.DELEGATION_REVOKED)) {
        // Some don't act on it until they read past their cache, or write.
        boolean late = faults.rng().oneIn(2) && !node.directory();
        d.holder.revoke(d, late ? Integer.MAX_VALUE : (int) faults.rng().spread(1, 60));
      } else {
        giveBack(d);
      }
    }
  }

  /** Before a name is made or removed. */
  void recallParent(Path name, ClientCache asker) {
    Path parent = name.getParent();
    ServerNode directory = parent == null ? null : server.find(parent);
    if (directory != null) {
      recall(directory, true, asker);
    }
  }

  void giveBack(Delegation d) {
    for (ClientCache.Piece p : d.kept) {
      server.write(d.node, p.offset(), p.bytes());
      d.holder.clean(d.node, p);
    }
    d.kept.clear();
    d.holder.end(d);
  }
}
