package dev.cinch.lease.register;

import dev.cinch.lease.cell.Algorithm;
import dev.cinch.lease.cell.Flease;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.net.CellNode;
import dev.cinch.lease.cell.net.CellSettings;
import dev.cinch.lease.cell.net.LoopbackCell;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.table.LeaseBackend;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.random.RandomGenerator;

/**
 * A cell of three nodes, or what else has several registers of the same values, that all tests of
 * this JVM share, each with names of its own.
 */
final class RunningCell {
  private static final long MILLI = 1_000_000;
  private static final long LONGEST = 60_000 * MILLI;
  private static final long KEEP = 3_600_000 * MILLI;
  private static final CellSettings SETTINGS = CellSettings.DEFAULT.withDatagramBytes(16_384);

  static final Algorithm PAXOS = new PaxosLease(LONGEST, 500, KEEP);

  static final Algorithm FLEASE_ALGORITHM = new Flease(LONGEST, MILLI, KEEP);

  static final RunningCell PAXOSLEASE = of(PAXOS);

  static final RunningCell FLEASE = of(FLEASE_ALGORITHM);

  private final List<StateRegister> registers;
  private final AtomicInteger rigs = new AtomicInteger();

  RunningCell(List<? extends StateRegister> registers) {
    this.registers = List.copyOf(registers);
  }

  private static RunningCell of(Algorithm algorithm) {
    return new RunningCell(
        nodes(algorithm).stream()
            .map(node -> new CellRegister(node, RandomGenerator.of("L64X128MixRandom")))
            .toList());
  }

  static List<CellNode> nodes(Algorithm algorithm) {
    return start(algorithm).nodes;
  }

  /** Starts three nodes, which run until this JVM ends. */
  static LoopbackCell start(Algorithm algorithm) {
    try {
      Path directory = Files.createTempDirectory("cinch-cell");
      var cell = new LoopbackCell(directory, algorithm, true, SETTINGS);
      Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(directory)));
      return cell;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void delete(Path directory) {
    try (var files = Files.walk(directory)) {
      files.sorted(java.util.Comparator.reverseOrder()).map(Path::toFile).forEach(f -> f.delete());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A service whose changes go to each node in turn. */
  Rig rig() {
    return new Rig(backend(new InTurn(registers)));
  }

  /** A backend of its own names on one node, the same ones that those made together have. */
  List<LeaseBackend.Factory> backends() {
    String prefix = prefix();
    return registers.stream()
        .map(r -> RegisterBackend.on(new Prefixed(r, prefix), ManualTime.START, 60_000, 0))
        .toList();
  }

  private LeaseBackend.Factory backend(StateRegister register) {
    return RegisterBackend.on(new Prefixed(register, prefix()), ManualTime.START, 60_000, 0);
  }

  private String prefix() {
    return "t" + rigs.incrementAndGet() + "/";
  }
}
