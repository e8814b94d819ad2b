package dev.cinch.lease.register;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseName;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.function.Consumer;

/**
 * Has the changes of a name follow each other in this process: those of one register would
 * otherwise get in each other's way. Thread-safe.
 */
@CheckReturnValue
public final class Turns {
  /** The last change of each name: the next one begins when it has ended. */
  private final Map<LeaseName, CompletableFuture<Boolean>> last = new ConcurrentHashMap<>();

  private final Executor executor;

  public Turns() {
    this(ForkJoinPool.commonPool());
  }

  /**
   * @param executor begins those that had to wait for another
   */
  Turns(Executor executor) {
    this.executor = executor;
  }

  /**
   * The next change of a name.
   *
   * @param begin begins it, and has it complete what is given, sooner or later; called at once, or
   *     on another thread
   * @return what is completed
   */
  public CompletableFuture<Boolean> next(
      LeaseName name, Consumer<CompletableFuture<Boolean>> begin) {
    var done = new CompletableFuture<Boolean>();
    CompletableFuture<Boolean> before = last.put(name, done);
    var unused = done.whenComplete((written, failure) -> last.remove(name, done));
    if (before == null) {
      var alsoUnused = begin(begin, done);
    } else {
      // Not on the thread that ends the one before: if all give up, each would end within another.
      var alsoUnused =
          before
              .handleAsync((written, failure) -> begin(begin, done), executor)
              .exceptionally(done::completeExceptionally); // which has no thread for it, say
    }
    return done;
  }

  /** Where it fails it has ended: else all that follow would wait for it. */
  private static boolean begin(
      Consumer<CompletableFuture<Boolean>> begin, CompletableFuture<Boolean> done) {
    try {
      begin.accept(done);
      return true;
    } catch (RuntimeException | VirtualMachineError e) {
      return done.completeExceptionally(e);
    }
  }
}
