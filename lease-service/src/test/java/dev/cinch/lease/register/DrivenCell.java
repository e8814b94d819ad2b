package dev.cinch.lease.register;

import dev.cinch.lease.cell.net.CellNode;
import java.util.concurrent.Executor;
import java.util.function.LongFunction;
import java.util.random.RandomGenerator;

/** What a simulation drives of a register upon a cell. Stateless. */
public final class DrivenCell {
  private DrivenCell() {}

  /**
   * @param later runs tasks after so many nanoseconds
   */
  public static StateRegister register(
      CellNode node, RandomGenerator random, LongFunction<Executor> later) {
    return new CellRegister(node, random, later, new StateRegister.ChangeQueue(later.apply(0)));
  }
}
