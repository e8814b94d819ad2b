package dev.cinch.lease.bench;

import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Step;
import dev.cinch.lease.cell.net.Algorithm;
import dev.cinch.lease.cell.net.CellNode;
import dev.cinch.lease.cell.net.CellSettings;
import dev.cinch.lease.cell.net.LoopbackCell;
import dev.cinch.lease.cell.paxos.Durations;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Optional;
import java.util.function.Function;

/** Cinch's cell as {@link CellBench} has it, by either algorithm. */
public final class CinchCell implements CellPeer {
  private static final long SECOND = 1_000_000_000;
  private static final long TTL = 1_800 * SECOND;
  private static final long PATIENCE = 20 * SECOND;
  private static final Bytes VALUE = Bytes.of("0123456789abcdef");
  private static final Function<Step.Found, Optional<Bytes>> PROPOSE = f -> Optional.of(VALUE);

  private final String name;
  private final Algorithm algorithm;

  private CinchCell(String name, Algorithm algorithm) {
    this.name = name;
    this.algorithm = algorithm;
  }

  public static CinchCell paxosLease() {
    return new CinchCell(
        "Cinch, PaxosLease", Algorithm.paxosLease(new Durations(2 * TTL, 500, TTL)));
  }

  public static CinchCell flease() {
    return new CinchCell(
        "Cinch, Flease",
        Algorithm.flease(new dev.cinch.lease.cell.flease.Durations(2 * TTL, SECOND / 10, TTL)));
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Nodes start() throws IOException {
    var cell =
        new LoopbackCell(
            Files.createTempDirectory("cell-turns"), algorithm, true, CellSettings.DEFAULT);
    return new Nodes() {
      @Override
      public Acquisition acquisition(int node, String lease) {
        CellNode by = cell.nodes.get(node);
        Bytes key = Bytes.of(lease);
        return done ->
            by.acquire(key, TTL, PATIENCE, PROPOSE)
                .thenAccept(outcome -> done.accept(outcome.isGranted()));
      }

      @Override
      public int size() {
        return cell.nodes.size();
      }

      @Override
      public void close() throws IOException {
        cell.close();
      }
    };
  }
}
