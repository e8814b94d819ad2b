package dev.cinch.lease.http;

import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.memory.Rig;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.Z_Result;

/** Leases change on one thread while the loop tells those who watch. */
public final class WatchesRace {
  private static final List<LeaseInfo> HELD = held();

  private WatchesRace() {}

  /** Two leases that are held. */
  private static List<LeaseInfo> held() {
    var rig = new Rig();
    try {
      var unused = rig.acquire("a", "b");
      return rig.service.list("", Optional.empty(), 2);
    } catch (LeaseRefusedException | LeaseUnavailableException e) {
      throw new AssertionError(e);
    }
  }

  /** One who watches two names, and how the table stands. */
  abstract static class Watched {
    final Tasks loop = new Tasks();
    final StringBuffer said = new StringBuffer();
    volatile boolean granted;

    final Watchers watches =
        new Watchers(
            2,
            "o",
            loop,
            new Watchers.Look() {
              @Override
              public void page(
                  String prefix,
                  Optional<LeaseName> after,
                  Consumer<List<LeaseInfo>> told,
                  Consumer<String> failed) {
                told.accept(List.of());
              }

              @Override
              public void show(
                  List<LeaseName> names, Consumer<List<LeaseInfo>> told, Consumer<String> failed) {
                told.accept(granted ? HELD : List.of());
              }

              @Override
              public void now(Consumer<Long> told) {}
            });

    final Watchers.Watcher watcher =
        new Watchers.Watcher(
            Set.of("a", "b"),
            List.of(),
            "",
            new Watchers.Sink() {
              @Override
              public void refuse(String why) {}

              @Override
              public boolean isFull() {
                return false;
              }

              @Override
              public void write(String text) {
                said.append(text);
              }

              @Override
              public void end() {}
            });

    /** As the table tells of a change. */
    void became(int lease) {
      LeaseInfo info = HELD.get(lease);
      if (watches.watches(info.witness().name().value())) {
        watches.became(info);
      }
    }

    boolean knowsBoth() {
      loop.work();
      return said.indexOf("\"a\"") >= 0 && said.indexOf("\"b\"") >= 0;
    }
  }

  /** A change that comes while the loop takes the last one is told, too. */
  @JCStressTest
  @Outcome(id = "true", expect = Expect.ACCEPTABLE, desc = "both changes are told")
  @Outcome(expect = Expect.FORBIDDEN, desc = "nobody woke the loop for the second")
  @State
  public static class NewsMeanwhile extends Watched {
    public NewsMeanwhile() {
      boolean unused = watches.add(watcher);
      became(0);
    }

    @Actor
    public void loop() {
      loop.work();
    }

    @Actor
    public void changes() {
      became(1);
    }

    @Arbiter
    public void told(Z_Result r) {
      r.r1 = knowsBoth();
    }
  }

  /** One who begins to watch while leases are granted finds them, or is told. */
  @JCStressTest
  @Outcome(id = "true", expect = Expect.ACCEPTABLE, desc = "found or told")
  @Outcome(expect = Expect.FORBIDDEN, desc = "the grant fell between the look and the news")
  @State
  public static class BeginsToWatch extends Watched {
    @Actor
    public void begins() {
      boolean unused = watches.add(watcher);
    }

    @Actor
    public void grants() {
      granted = true;
      became(0);
      became(1);
    }

    @Arbiter
    public void told(Z_Result r) {
      r.r1 = knowsBoth();
    }
  }
}
