package dev.cinch.cli.lease;

import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.http.LeaseEvent;
import dev.cinch.lease.http.LeaseWatch;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/** The events of several watches as one, in the order in which they came. One thread reads. */
final class MergedWatch implements AutoCloseable {
  /** So many events wait here; a server bounds what waits there. */
  private static final int MOST = 64;

  private interface Told {
    LeaseEvent event() throws LeaseUnavailableException;
  }

  private final List<LeaseWatch> watches;
  private final BlockingQueue<Told> told = new ArrayBlockingQueue<>(MOST);

  /** Closes the watches in the end. */
  MergedWatch(List<LeaseWatch> watches) {
    this.watches = watches;
    for (LeaseWatch watch : watches) {
      var thread = new Thread(() -> read(watch), "cinch-watch");
      thread.setDaemon(true);
      thread.start();
    }
  }

  /** The ids of their last events, with commas between; empty if one of them has none. */
  static String lastIds(List<LeaseWatch> watches) {
    List<String> ids = watches.stream().map(LeaseWatch::lastId).toList();
    return ids.contains("") ? "" : String.join(",", ids);
  }

  private void read(LeaseWatch watch) {
    try {
      while (true) {
        Told next;
        boolean last = false;
        try {
          LeaseEvent event = watch.next();
          next = () -> event;
        } catch (LeaseUnavailableException e) {
          last = true;
          next =
              () -> {
                throw e;
              };
        }
        told.put(next);
        if (last) {
          return;
        }
      }
    } catch (InterruptedException e) {
      watch.close(); // nobody interrupts it but for an end of the process
    }
  }

  /**
   * @throws LeaseUnavailableException if one of them ended
   */
  LeaseEvent next() throws LeaseUnavailableException, InterruptedException {
    return told.take().event();
  }

  @Override
  public void close() {
    watches.forEach(LeaseWatch::close);
  }
}
