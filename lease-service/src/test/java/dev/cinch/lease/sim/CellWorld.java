package dev.cinch.lease.sim;

import com.google.errorprone.annotations.FormatMethod;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Function;

/**
 * A world of machines that pause and crash, and whose messages are lost, doubled and late, until
 * faults stop.
 *
 * @param <P> what a seed draws of it
 */
public abstract class CellWorld<P extends CellWorld.Troubles> extends Events {
  private static final boolean TRACE = Boolean.getBoolean("cinch.cell.trace");
  private static final long MS = 1_000_000;

  /** Times are nanoseconds, and the rest probabilities unless they say more. */
  public interface Troubles {
    /** The longest lease. */
    long longest();

    /** When faults stop. */
    long end();

    double loss();

    double doubled();

    double late();

    double pause();

    /** How often a machine crashes on average in the time of three leases. */
    double crash();

    /** Likewise for its clock, which changes. */
    double disturb();
  }

  /** What may crash. */
  public interface Machine {
    boolean isUp();

    void start();

    void crash();

    /** Its clocks change, as they may. */
    void disturb();
  }

  public final Rng rng;
  public final P plan;
  private boolean calm;

  protected CellWorld(long seed, Function<Rng, P> draw) {
    rng = new Rng(seed);
    plan = draw.apply(rng);
  }

  /** Whether faults have stopped. */
  public final boolean isCalm() {
    return calm;
  }

  /** Starts the machines, and goes on until faults stop and whichever is down starts again. */
  protected final void runTroubled(List<? extends Machine> machines) {
    for (Machine machine : machines) {
      machine.start();
      often(plan.crash(), () -> crash(machine));
      often(plan.disturb(), machine::disturb);
    }
    runUntil(plan.end());
    calm = true;
    trace("faults stop");
    machines.forEach(CellWorld::startIfDown);
  }

  private void often(double mean, Runnable what) {
    double expected = mean * plan.end() / plan.longest() / 3;
    int times = (int) expected + (rng.chance(expected - (int) expected) ? 1 : 0);
    for (int n = 0; n < times; n++) {
      at(rng.between(0, plan.end()), what);
    }
  }

  /** It starts again in a while. */
  protected final void crash(Machine machine) {
    if (machine.isUp()) {
      machine.crash();
      long down = rng.chance(0.5) ? rng.below(1_000) : rng.between(0, plan.longest());
      in(down, () -> startIfDown(machine));
    }
  }

  private static void startIfDown(Machine machine) {
    if (!machine.isUp()) {
      machine.start();
    }
  }

  /** Goes on until every name was granted, for the time of so many leases at most. */
  protected final void runUntilGranted(int leases, BooleanSupplier granted) {
    for (int n = 0; n < leases && !granted.getAsBoolean(); n++) {
      runUntil(time + plan.longest());
    }
    if (!granted.getAsBoolean()) {
      throw new Broken("not every name was granted although faults had stopped");
    }
  }

  /** How long somebody stands still now; mostly 0. */
  public final long pause() {
    if (calm || !rng.chance(plan.pause())) {
      return 0;
    }
    return rng.between(1, rng.chance(0.3) ? 2 * plan.longest() : plan.longest() / 10);
  }

  /** A message that may be lost, doubled, or late. */
  public final void carry(Runnable arrival) {
    if (!calm && rng.chance(plan.loss())) {
      return;
    }
    arrive(arrival);
    if (!calm && rng.chance(plan.doubled())) {
      arrive(arrival);
    }
  }

  private void arrive(Runnable arrival) {
    long delay = rng.between(MS / 10, 2 * MS);
    if (!calm && rng.chance(plan.late())) {
      delay = rng.between(0, rng.chance(0.5) ? 3 * plan.longest() : plan.longest() / 2);
    }
    in(delay, arrival);
  }

  /** Tells what happens, if asked to: {@code -Dcinch.cell.trace=true}. */
  @FormatMethod
  public final void trace(String format, Object... what) {
    if (TRACE) {
      System.err.printf("%,15d  ", time);
      System.err.printf(format + "%n", what);
    }
  }
}
