package dev.cinch.sim;

import dev.cinch.bag.Log;
import dev.cinch.bag.LogRemovedException;
import dev.cinch.bag.Store;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.store.RemovedLogs;
import java.io.IOException;

/** Finishes removals that were begun, and looks what then stays (rule H8). */
final class RemovalCheck {
  private final Store store;
  private final History history;

  RemovalCheck(Store store, History history) {
    this.store = store;
    this.history = history;
  }

  /** A log that was open before its tombstone stood is read on with that. */
  Log bury(int index) throws IOException, InterruptedException {
    Log log = store.log(Workbench.log(index));
    HorizonChain.Link last = log.horizon().end();
    history.ended(index, last.record().number());
    var unused = new RemovedLogs(log.context().store()).bury(log.context());
    try {
      history.violation("removed, and opened: " + store.log(log.name()).name());
    } catch (LogRemovedException e) {
      return log;
    }
    return log;
  }
}
