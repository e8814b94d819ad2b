package dev.cinch.lease.register;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.table.UnansweredException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Waits for what a register answers. */
@CheckReturnValue
final class Answers {
  /** A register gives up earlier; after so long something is wrong with it. */
  private static final long PATIENCE_SECONDS = 20;

  private Answers() {}

  /**
   * The answer.
   *
   * @param what is asked for, to say so
   * @throws LeaseRefusedException that the register has; {@code NOT_YET} if it did nothing
   * @throws UnansweredException if it may have done it
   */
  static <T> T of(CompletableFuture<T> answer, String what) throws LeaseRefusedException {
    try {
      return answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw refusal(e.getCause());
    } catch (TimeoutException e) {
      throw new UnansweredException(what + ": no answer");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new UnansweredException(what + ": the service ends");
    }
  }

  private static LeaseRefusedException refusal(@Nullable Throwable failure) {
    if (failure instanceof LeaseRefusedException refused) {
      return refused;
    }
    throw failure instanceof RuntimeException runtime
        ? runtime
        : new IllegalStateException(failure);
  }
}
