package dev.cinch.lease.server;

import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException.LeaseHeldException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome.Refused;
import dev.cinch.lease.wire.Answer;
import java.util.List;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** A lease is released by one thread while a request that finds it held begins to wait. */
@JCStressTest
@Outcome(id = "1", expect = Expect.ACCEPTABLE, desc = "whoever waits has it")
@Outcome(id = "0", expect = Expect.FORBIDDEN, desc = "nobody told it, and it waits for its time")
@Outcome(expect = Expect.FORBIDDEN, desc = "told more than once")
@State
public class WaitingRoomRace {
  private static final LeaseName NAME = new LeaseName("a");
  private static final Operation.Acquire ACQUIRE =
      new Operation.Acquire(new Id(1, 1), List.of(NAME), "h", 1_000, LogSet.ALL, false);
  private static final dev.cinch.lease.Outcome HELD =
      new Refused(new LeaseHeldException(NAME, "held", 1_000));

  private final Tasks loop = new Tasks();
  private volatile boolean held = true;
  private int told;

  private final WaitingRoom room =
      new WaitingRoom(
          10,
          loop,
          (acquire, done, failed) -> done.accept(held ? HELD : dev.cinch.lease.Outcome.RELEASED));

  private final class Waiting implements WaitingRoom.Sender {
    @Override
    public void waits() {}

    @Override
    public void outcome(dev.cinch.lease.Outcome outcome) {
      told++;
    }

    @Override
    public void failed(Answer answer) {
      told += 2;
    }
  }

  @Actor
  public void loop() {
    room.ask(new WaitingRoom.Request(ACQUIRE.waiting(1_000), 0, new Waiting()));
    loop.work();
  }

  @Actor
  public void releases() {
    held = false;
    room.changed(NAME.value(), true);
  }

  @Arbiter
  public void told(I_Result r) {
    loop.work();
    r.r1 = told;
  }
}
