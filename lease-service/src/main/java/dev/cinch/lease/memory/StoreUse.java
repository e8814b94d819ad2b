package dev.cinch.lease.memory;

import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.table.Tenure;
import dev.cinch.lease.time.SignedClock;
import dev.cinch.lease.time.SignedClock.Reading;
import java.util.List;

/**
 * What operations may need the store for: by threads that may wait for it, and by others, for which
 * the operation ends before it has changed anything.
 *
 * @param <X> thrown where the store would have to be asked
 */
interface StoreUse<X extends Exception> {
  /** The clocks; a wall clock that jumped ahead is compared with the store's. */
  Reading read() throws X;

  /** As {@link InstanceGuard#permit}. */
  long permit(Reading at, long durationNanos) throws LeaseRefusedException, X;

  /** As {@link InstanceGuard#end}. */
  void end(List<Tenure> tenures) throws LeaseRefusedException, X;

  /** Whether the store may be asked; throws if not. */
  void require() throws X;

  /** For threads that may wait. */
  static StoreUse<RuntimeException> waiting(InstanceGuard guard, SignedClock clock) {
    return new StoreUse<>() {
      @Override
      public Reading read() {
        Reading at = clock.read();
        return guard.mustLookAtClock(at) ? guard.afterJump(at) : at;
      }

      @Override
      public long permit(Reading at, long durationNanos) throws LeaseRefusedException {
        return guard.permit(at, durationNanos);
      }

      @Override
      public void end(List<Tenure> tenures) throws LeaseRefusedException {
        guard.end(tenures);
      }

      @Override
      public void require() {}
    };
  }

  /** For threads that must not. */
  static StoreUse<StoreNeededException> none(InstanceGuard guard, SignedClock clock) {
    return new StoreUse<>() {
      @Override
      public Reading read() throws StoreNeededException {
        Reading at = clock.read();
        if (at.jumped()) {
          throw new StoreNeededException();
        }
        return at;
      }

      @Override
      public long permit(Reading at, long durationNanos)
          throws LeaseRefusedException, StoreNeededException {
        return guard.permitNow(at, durationNanos);
      }

      @Override
      public void end(List<Tenure> tenures) throws StoreNeededException {
        throw new StoreNeededException();
      }

      @Override
      public void require() throws StoreNeededException {
        throw new StoreNeededException();
      }
    };
  }
}
