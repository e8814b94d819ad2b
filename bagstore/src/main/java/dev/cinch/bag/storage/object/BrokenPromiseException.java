package dev.cinch.bag.storage.object;

import dev.cinch.bag.model.Name;
import java.io.IOException;

/** An object store does not keep what a store needs, so none can be there. */
public final class BrokenPromiseException extends IOException {
  private static final long serialVersionUID = 1L;

  private final String seen;
  private final String meaning;

  /**
   * @param seen what it did
   * @param meaning what would come of that
   */
  BrokenPromiseException(String seen, String meaning) {
    this("", seen, meaning);
  }

  private BrokenPromiseException(String where, String seen, String meaning) {
    super(where + seen + ": " + meaning + "; take another server");
    this.seen = seen;
    this.meaning = meaning;
  }

  /** The same, with what it was wanted for. */
  public BrokenPromiseException at(Name store) {
    return new BrokenPromiseException(store + ": ", seen, meaning);
  }

  public String seen() {
    return seen;
  }

  public String meaning() {
    return meaning;
  }
}
