package dev.cinch.cli.serve;

import dev.cinch.bag.store.CountingKeys;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.cli.base.Failure;
import dev.cinch.lease.cell.net.CellFile;
import dev.cinch.lease.register.CellSigner;
import dev.cinch.lease.register.LeaseNotary;
import dev.cinch.lease.register.LeaseNotary.Limit;
import dev.cinch.lease.witness.CellKeys;
import dev.cinch.lease.witness.NodeSigner;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * How a node of a cell signs.
 *
 * @param signer has a majority sign what this node grants
 * @param notary signs what this node's acceptor accepts
 */
record NodeSigning(CellSigner signer, LeaseNotary notary) {

  /**
   * That of a node whose key the store trusts, with those of the others.
   *
   * @param limit what its signature needs besides
   * @throws Failure.Refusal if it does not, or if this is another node's key
   */
  static NodeSigning of(CellFile cell, int node, StoreContext store, SigningKey key, Limit limit)
      throws IOException {
    long instance = cell.instance();
    Optional<CellKeys> trusted = CountingKeys.ofStore(store).strict().now().cell(instance);
    if (trusted.isEmpty()) {
      throw new Failure.Refusal(
          "the store trusts no nodes of instance "
              + instance
              + ": it is no cell's, or an earlier version made it; cinch cell init makes another");
    }
    store.storage().secure(store.layout().keys()); // before it is relied on (rule F3)
    CellKeys keys = trusted.get();
    List<Integer> ids = cell.nodes().stream().map(CellFile.Node::id).toList();
    if (keys.nodes().size() != ids.size()
        || !keys.nodes().get(ids.indexOf(node)).equals(key.publicKey())) {
      throw new Failure.Refusal(
          "key %s is not that of node %d of instance %d: name the file of its key with --key"
              .formatted(key.publicKey().idText(), node, instance));
    }
    return new NodeSigning(
        new CellSigner(keys, ids), new LeaseNotary(instance, new NodeSigner(key), limit));
  }
}
