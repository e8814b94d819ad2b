package dev.cinch.lease.register;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.cinch.lease.cell.Algorithm;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.net.CellNode;
import dev.cinch.lease.cell.net.Notary;
import dev.cinch.lease.memory.Rig;
import dev.cinch.lease.table.LeaseBackend;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.witness.CellKeys;
import dev.cinch.lease.witness.Cells;
import dev.cinch.lease.witness.NodeSigner;
import dev.cinch.lease.witness.SigningKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.random.RandomGenerator;

/** A cell of three nodes that sign, for all tests of this JVM. */
final class SignedCell {
  private static final List<Integer> IDS = List.of(1, 2, 3);

  /** Of a service without a registry. */
  private static final CellKeys ALONE = Cells.of(ManualTime.START / 1_000_000, IDS.size());

  private static final CellKeys TOGETHER = Cells.of(Backends.TOGETHER, IDS.size());

  static final SignedCell PAXOSLEASE = new SignedCell(RunningCell.PAXOS);
  static final SignedCell FLEASE = new SignedCell(RunningCell.FLEASE_ALGORITHM);

  private final List<CellNode> nodes;

  private final AtomicInteger rigs = new AtomicInteger();

  private SignedCell(Algorithm algorithm) {
    nodes = RunningCell.start(algorithm).nodes;
    for (int id : IDS) {
      nodes.get(id - 1).notary(new PrefixedNotary(Cells.node(id)));
    }
  }

  /** Of names that begin with what kind of service they are of, without that. */
  private static final class PrefixedNotary implements Notary {
    private final LeaseNotary alone;
    private final LeaseNotary together;

    PrefixedNotary(SigningKey key) {
      var signer = new NodeSigner(key);
      alone = new LeaseNotary(ALONE.instance(), signer, LeaseNotary.Limit.NONE);
      together = new LeaseNotary(TOGETHER.instance(), signer, LeaseNotary.Limit.NONE);
    }

    @Override
    public Optional<byte[]> statement(Bytes name, Bytes value, Runnable again) {
      String text = new String(name.toArray(), US_ASCII);
      Bytes rest = Bytes.of(text.substring(text.indexOf('/') + 1));
      return (text.startsWith("t") ? together : alone).statement(rest, value, again);
    }

    @Override
    public List<Bytes> sign(List<byte[]> statements) {
      return alone.sign(statements);
    }
  }

  private static StateRegister register(CellNode node, CellSigner signer) {
    return new CellRegister(node, RandomGenerator.of("L64X128MixRandom"), signer);
  }

  private static SignedBackend backend(StateRegister on, CellSigner signer, CellKeys keys) {
    return new SignedBackend(RegisterBackend.on(on, ManualTime.START, 60_000, 0), signer, keys);
  }

  /** A service whose changes go to each node in turn. */
  Rig rig() {
    var signer = new CellSigner(ALONE, IDS);
    var inTurn = new InTurn(nodes.stream().map(node -> register(node, signer)).toList());
    String prefix = "a" + rigs.incrementAndGet() + "/";
    return new Rig(backend(new Prefixed(inTurn, prefix), signer, ALONE));
  }

  /** What servers have that keep the same leases, each on one node. */
  List<LeaseBackend.Factory> backends() {
    String prefix = "t" + rigs.incrementAndGet() + "/";
    var made = new ArrayList<LeaseBackend.Factory>();
    for (CellNode node : nodes) {
      var signer = new CellSigner(TOGETHER, IDS);
      made.add(backend(new Prefixed(register(node, signer), prefix), signer, TOGETHER));
    }
    return made;
  }
}
