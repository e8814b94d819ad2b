package dev.cinch.cli.base;

import dev.cinch.bag.Log;
import dev.cinch.bag.LogRemovedException;
import dev.cinch.bag.NotAStoreException;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import java.io.IOException;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/** What becomes of a log that is to be written to and is not there. */
public final class CreateOption {
  @Option(
      names = "--create",
      negatable = true,
      defaultValue = "true",
      fallbackValue = "true",
      showDefaultValue = CommandLine.Help.Visibility.NEVER,
      description = "Make the log if there is none, and say so: the default. --no-create: refuse.")
  boolean create;

  /**
   * Opens a log, made if need be and may be.
   *
   * @param command who says that it was made
   * @throws NotAStoreException if it may not be made, or has lost its identity
   */
  public Log open(Store store, LogName name, String command, Io io) throws IOException {
    try {
      return store.log(name);
    } catch (NotAStoreException e) {
      if (!create || e instanceof LogRemovedException) {
        throw e;
      }
      Log made = store.createLog(name);
      io.say(command, "there was no log \"" + name + "\"; it was made");
      return made;
    }
  }
}
