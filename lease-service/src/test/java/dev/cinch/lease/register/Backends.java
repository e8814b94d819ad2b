package dev.cinch.lease.register;

import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.table.LeaseBackend;
import java.util.List;
import java.util.ServiceLoader;
import java.util.stream.Stream;

/** What can keep leases: the tests of their rules run with each. */
public enum Backends {
  MEMORY {
    @Override
    public Rig rig() {
      return new Rig();
    }
  },
  PAXOSLEASE {
    @Override
    public Rig rig() {
      return RunningCell.PAXOSLEASE.rig();
    }

    @Override
    public List<LeaseBackend.Factory> together() {
      return RunningCell.PAXOSLEASE.backends();
    }
  },
  FLEASE {
    @Override
    public Rig rig() {
      return RunningCell.FLEASE.rig();
    }

    @Override
    public List<LeaseBackend.Factory> together() {
      return RunningCell.FLEASE.backends();
    }
  },
  /** Registers of another module, whose tests these are too. */
  OTHERS {
    @Override
    public Rig rig() {
      return Others.CELL.rig();
    }

    @Override
    public List<LeaseBackend.Factory> together() {
      return Others.CELL.backends();
    }
  };

  /** Finds the registers that another module has. */
  public interface Provider {
    /** Several of the same values; once. */
    List<? extends StateRegister> registers();
  }

  private static final class Others {
    static final RunningCell CELL =
        new RunningCell(ServiceLoader.load(Provider.class).findFirst().orElseThrow().registers());
  }

  /** Those that are tested here. */
  public static Stream<Backends> here() {
    boolean others = ServiceLoader.load(Provider.class).findFirst().isPresent();
    return Stream.of(values()).filter(backend -> (backend == OTHERS) == others);
  }

  /** Those of them that keep leases together. */
  public static Stream<Backends> sharing() {
    return here().filter(backend -> backend != MEMORY);
  }

  /** The instance of those that keep leases together. */
  public static final long TOGETHER = 7;

  /** A service that has no leases yet. */
  public abstract Rig rig();

  /** What several servers have that keep the same leases, none yet. */
  public List<LeaseBackend.Factory> together() {
    throw new UnsupportedOperationException(this + " has leases of its own");
  }
}
