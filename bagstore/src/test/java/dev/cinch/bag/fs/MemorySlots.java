package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Slots in memory; a process can be killed, a machine cloned, and any operation fail. */
public final class MemorySlots implements LocalSlots {
  private final Map<String, byte[]> states = new HashMap<>();
  private final Set<String> held = new HashSet<>();
  private String boot = "first boot";
  private int countdown;
  private boolean before;

  /** Lets the k-th operation from now fail, before or after it took effect. */
  public void arm(int k, boolean beforeEffect) {
    countdown = k;
    before = beforeEffect;
  }

  /** Whether what was armed has happened. */
  public boolean fired() {
    return countdown == 0;
  }

  /** All processes end. */
  public void kill() {
    held.clear();
  }

  /** The machine starts again, and its memory is still there. */
  public void reboot() {
    kill();
    boot = "second boot";
  }

  /** The machine as a snapshot of its memory has it. */
  public MemorySlots copy() {
    var copy = new MemorySlots();
    states.forEach((name, state) -> copy.states.put(name, state.clone()));
    return copy;
  }

  /** How many slots offer a file. */
  public long offered() {
    return states.values().stream().filter(s -> s.length > 0).count();
  }

  private interface Effect {
    void run();
  }

  private void act(Effect effect) throws IOException {
    boolean hit = countdown > 0 && --countdown == 0;
    if (hit && before) {
      throw new IOException("injected before");
    }
    effect.run();
    if (hit) {
      throw new IOException("injected after");
    }
  }

  @Override
  public String boot() {
    return boot;
  }

  @Override
  public Optional<Slot> lock(String name) throws IOException {
    act(() -> {});
    if (!held.add(name)) {
      return Optional.empty();
    }
    return Optional.of(
        new Slot() {
          @Override
          public Path path() {
            return Path.of(name);
          }

          @Override
          public byte[] read() throws IOException {
            act(() -> {});
            return states.getOrDefault(name, new byte[0]).clone();
          }

          @Override
          public void write(byte[] state) throws IOException {
            act(() -> states.put(name, state.clone()));
          }

          @Override
          public void close() throws IOException {
            act(() -> held.remove(name));
          }
        });
  }
}
