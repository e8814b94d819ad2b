package dev.cinch.bag.storage;

import java.io.IOException;

/** The bucket has its mark, so nothing may be written to it any more: append, step 2. */
public class BucketSealedException extends IOException {
  private static final long serialVersionUID = 1;

  public BucketSealedException() {
    super("the bucket is being closed");
  }
}
