package dev.cinch.sim;

import dev.cinch.bag.fs.LocalSlots;
import dev.cinch.sim.fs.FaultKind;
import dev.cinch.sim.fs.Op;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/** A machine's slots as one process sees them; whoever is killed lets go of all it held. */
final class SimSlots implements LocalSlots {
  private final World world;
  private final SimMachine machine;
  private final SimProcess process;

  SimSlots(World world, SimMachine machine, SimProcess process) {
    this.world = world;
    this.machine = machine;
    this.process = process;
  }

  @Override
  public String boot() {
    return "boot-" + machine.boots;
  }

  @Override
  public Optional<Slot> lock(String name) throws IOException {
    enter(name);
    SimProcess holder = machine.slotHolders.get(name);
    if (holder != null && !holder.gone()) {
      return Optional.empty();
    }
    machine.slotHolders.put(name, process);
    return Optional.of(new Held(name));
  }

  private void enter(String name) throws IOException {
    process.enter(Op.SLOT, Path.of(name));
    if (world.faults.strike(FaultKind.META_ERROR)) {
      throw new IOException(name + ": Input/output error");
    }
    world.scheduler.passed(Op.SLOT, Path.of(name));
  }

  private final class Held implements Slot {
    private final String name;

    Held(String name) {
      this.name = name;
    }

    @Override
    public Path path() {
      return Path.of(name);
    }

    @Override
    public byte[] read() throws IOException {
      enter(name);
      return machine.slots.getOrDefault(name, new byte[0]).clone();
    }

    @Override
    public void write(byte[] state) throws IOException {
      enter(name);
      machine.slots.put(name, state.clone());
      enter(name); // killed, or told of an error, after it took effect
    }

    @Override
    public void close() throws IOException {
      enter(name);
      machine.slotHolders.remove(name);
    }
  }
}
