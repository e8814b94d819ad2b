package dev.cinch.examples.library;

import dev.cinch.bag.Problem;
import dev.cinch.bag.Store;
import dev.cinch.bag.StoreStatus;
import java.nio.file.Path;

/** Prints what of a store needs somebody. Argument: the store. */
public final class CheckStore {
  private CheckStore() {}

  public static void main(String[] args) throws Exception {
    Store store = Store.open(Path.of(args[0]), Store.Environment.ofHost());
    StoreStatus status = store.status();
    for (Problem problem : status.problems()) { // the most urgent first
      System.out.println(problem.kind() + " " + problem.message());
    }
    System.out.println(status.logs().size() + " logs, " + status.problems().size() + " problems");
  }
}
