package dev.cinch.cli.base;

import dev.cinch.bag.Log;
import dev.cinch.bag.LogRemovedException;
import dev.cinch.bag.NotAStoreException;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.store.RemovedLogs;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** What becomes of a log that is to be written to and is not there: a slip must not make one. */
public final class CreateOption {
  @Option(
      names = "--create",
      negatable = true,
      fallbackValue = "true",
      description =
          "Make the log if there is none, whatever the others are called; --no-create: refuse."
              + " Unless set, it is made, which is told, if no other has nearly the same name.")
  @Nullable Boolean create;

  /**
   * Opens a log, made if need be and may be.
   *
   * @param command who says that it was made
   * @throws Failure.Refusal if one is there that has nearly the same name
   * @throws NotAStoreException if it may not be made, or has lost its identity
   */
  public Log open(Store store, LogName name, String command, Io io) throws IOException {
    try {
      return store.log(name);
    } catch (LogRemovedException e) {
      throw e;
    } catch (NotAStoreException e) {
      List<LogName> others = store.permittedLogs();
      List<LogName> near = new ArrayList<>();
      for (LogName other : Nearest.logs(name, others)) {
        if (new RemovedLogs(store.context()).find(other).isEmpty()) {
          near.add(other);
        }
      }
      if (Boolean.FALSE.equals(create)) {
        throw orNear(e, near);
      }
      if (create == null && !others.contains(name) && !near.isEmpty()) {
        throw new Failure.Refusal(
            "there is no log \"%s\", but there is %s; --create makes it all the same"
                .formatted(name, inWords(near)));
      }
      Log made = store.createLog(name);
      io.say(command, "there was no log \"" + name + "\"; it was made");
      return made;
    }
  }

  /**
   * Opens a log that has to be there.
   *
   * @throws NotAStoreException if it is not; names those that have nearly the same name
   */
  public static Log existing(Store store, LogName name) throws IOException {
    try {
      return store.log(name);
    } catch (LogRemovedException e) {
      throw e;
    } catch (NotAStoreException e) {
      List<LogName> others = store.permittedLogs();
      throw others.contains(name) ? e : orNear(e, Nearest.logs(name, others));
    }
  }

  private static NotAStoreException orNear(NotAStoreException e, List<LogName> near) {
    return near.isEmpty()
        ? e
        : new NotAStoreException(e.getMessage() + "; there is " + inWords(near));
  }

  private static String inWords(List<LogName> names) {
    return names.stream().map(n -> "\"" + n + "\"").collect(Collectors.joining(", "));
  }
}
