package dev.cinch.lease.register;

import dev.cinch.lease.cell.net.CellNode;
import dev.cinch.lease.cell.net.Notary;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.LongFunction;
import java.util.function.UnaryOperator;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** What a simulation drives of a register upon a cell. Stateless. */
public final class DrivenCell {
  private DrivenCell() {}

  /**
   * @param later runs tasks after so many nanoseconds
   */
  public static StateRegister register(
      CellNode node,
      RandomGenerator random,
      @Nullable CellSigner signer,
      LongFunction<Executor> later) {
    return new CellRegister(
        node, random, signer, later, new StateRegister.ChangeQueue(later.apply(0)));
  }

  /** One whose signatures are made by others. */
  public static Notary notary(long instance, UnaryOperator<List<byte[]>> signer) {
    return new LeaseNotary(instance, signer, LeaseNotary.Limit.NONE);
  }
}
