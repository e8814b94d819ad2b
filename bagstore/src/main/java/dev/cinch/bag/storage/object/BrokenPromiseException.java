package dev.cinch.bag.storage.object;

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
    super(seen + ": " + meaning + "; take another server");
    this.seen = seen;
    this.meaning = meaning;
  }

  public String seen() {
    return seen;
  }

  public String meaning() {
    return meaning;
  }
}
