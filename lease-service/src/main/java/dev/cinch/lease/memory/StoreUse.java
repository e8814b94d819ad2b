package dev.cinch.lease.memory;

import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.table.LeaseBackend.Tenure;
import dev.cinch.lease.time.SignedClock;
import dev.cinch.lease.time.SignedClock.Reading;
import java.util.List;

/**
 * What operations may need the store for: by threads that may wait for it, and by others, for which
 * the operation ends with a {@link StoreNeededException} before it has changed anything.
 *
 * @param waits whether the thread may wait
 */
record StoreUse(InstanceGuard guard, SignedClock clock, boolean waits) {
  /** An operation can't be carried out without asking the store; nothing was changed. */
  static final class StoreNeededException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** Without a stack: it is no error, and nobody looks at where it came from. */
    StoreNeededException() {
      super("the store is needed", null, false, false);
    }
  }

  /** The clocks; a wall clock that jumped ahead is compared with the store's. */
  Reading read() {
    Reading at = clock.read();
    if (waits) {
      return guard.mustLookAtClock(at) ? guard.afterJump(at) : at;
    }
    if (at.jumped()) {
      throw new StoreNeededException();
    }
    return at;
  }

  /** As {@link InstanceGuard#permit}. */
  long permit(Reading at, long durationNanos) throws LeaseRefusedException {
    return waits ? guard.permit(at, durationNanos) : guard.permitNow(at, durationNanos);
  }

  /** As {@link InstanceGuard#end}. */
  void end(List<Tenure> tenures) throws LeaseRefusedException {
    require();
    guard.end(tenures);
  }

  /** That the store may be asked. */
  void require() {
    if (!waits) {
      throw new StoreNeededException();
    }
  }
}
