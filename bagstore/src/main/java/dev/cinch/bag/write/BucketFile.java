package dev.cinch.bag.write;

import dev.cinch.bag.format.FrameCodec;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.storage.Entered;
import dev.cinch.lease.SignedWitness;
import java.util.HashMap;
import java.util.Map;

/**
 * What a writer remembers of its data file in one bucket. Confined to the committer.
 *
 * <p>Everything in it describes batches that were written without an error; after one that left
 * bytes, or may have, the whole object is dropped (rule A2).
 */
final class BucketFile {
  final Bucket bucket;
  final DataFileName name;

  /** Where it is: from the first batch until this process leaves the bucket, or meets an error. */
  final Entered entered;

  final FrameCodec codec;

  /** Numbers of the witnesses that stand in the file. */
  final Map<SignedWitness, Integer> witnesses = new HashMap<>();

  long length;
  int digest;
  long messages;
  long first;

  /**
   * Whether this process has looked at intents and records since it began to write here, and found
   * none that reaches the bucket.
   */
  boolean passedHorizon;

  BucketFile(Bucket bucket, DataFileName name, Entered entered) {
    this.bucket = bucket;
    this.name = name;
    this.entered = entered;
    this.codec = new FrameCodec(name);
  }

  /** Writes no more to it. */
  void leave() {
    entered.leave();
  }
}
