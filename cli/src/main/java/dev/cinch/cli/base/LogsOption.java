package dev.cinch.cli.base;

import dev.cinch.bag.Log;
import dev.cinch.bag.NotAStoreException;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** One log, or all of a store. */
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class LogsOption {
  @Spec(Spec.Target.MIXEE)
  CommandSpec command;

  @Option(names = "--log", paramLabel = "NAME", description = "This log; all unless set.")
  public @Nullable LogName log;

  /** Refuses a name that no log has; one that is damaged has it. */
  public void check(Store store) throws IOException {
    if (log != null) {
      try {
        Log unused = store.log(log);
      } catch (NotAStoreException e) {
        throw e;
      } catch (IOException e) {
        // Told when it is worked on.
      }
    }
  }

  /** Tells of what became of a log's turn, and gives the exit code. */
  @FunctionalInterface
  public interface Teller {
    int tell(LogName log, Exception failure);
  }

  /** What is done with a log. */
  @FunctionalInterface
  public interface Work {
    void on(Log log) throws Exception;
  }

  /**
   * Works on it, or on them in the order of names, each opened when it is its turn: one that is
   * damaged or can't be read is told of, and keeps no other from its turn.
   *
   * @return the exit code, the worst if there are several
   */
  public int each(Store store, Io io, Output out, Work work)
      throws IOException, InterruptedException {
    return each(store, out, (name, e) -> io.told(command, e), work);
  }

  /** As {@link #each(Store, Io, Output, Work)}, for who tells failures otherwise. */
  public int each(Store store, Output out, Teller teller, Work work)
      throws IOException, InterruptedException {
    int code = ExitCode.GOOD;
    out.ifClosed(ExitCode.UNAVAILABLE);
    for (LogName name : log != null ? List.of(log) : store.freshLogs()) {
      try {
        for (Log opened : log != null ? List.of(store.log(name)) : store.whole(List.of(name))) {
          work.on(opened);
          out.flush(); // the next one may take hours
        }
      } catch (Output.ClosedException | InterruptedException e) {
        throw e;
      } catch (Exception e) {
        code = ExitCode.worse(code, teller.tell(name, e));
        out.ifClosed(code);
      }
    }
    return code;
  }
}
