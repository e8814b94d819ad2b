package dev.cinch.bag.audit;

import dev.cinch.bag.model.Name;

/** Told how a {@link StoreVerifier} gets on. Called on the verifier's thread. */
@FunctionalInterface
public interface VerifyListener {
  /** Something was found; verifying goes on. */
  void found(Finding finding);

  /**
   * A file was read.
   *
   * @param file which
   * @param soFar what was read so far, this file included
   */
  default void progress(Name file, VerifySummary soFar) {}
}
