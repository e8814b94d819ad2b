package dev.cinch.sim.fs;

import java.nio.file.Path;

/**
 * Stands before every operation of a process. It may let others run, let time pass, or end the
 * process by throwing an {@link Error}.
 */
public interface Gate {
  /** Before an operation has its effect. */
  void enter(Op op, Path path);

  /** After the effect, before the caller learns of it. */
  void leave(Op op, Path path);

  /** An operation is about to fail. */
  void failed(Op op, Path path, Exception why);

  /** The process has a file open, until {@link #closed}. */
  void opened(Killable file);

  void closed(Killable file);

  /** What is left of an open file when its process ends. */
  interface Killable {
    void killed(boolean machineToo);
  }

  /** Simulated time that passed, nanoseconds. */
  long now();
}
