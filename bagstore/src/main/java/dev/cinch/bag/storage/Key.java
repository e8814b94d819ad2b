package dev.cinch.bag.storage;

import dev.cinch.bag.model.Bucket;

/** The name of a document of a log, which is written once. */
public sealed interface Key {
  /** What exists in a bucket. */
  record Lock(Bucket bucket) implements Key {}

  /**
   * A part of a lock.
   *
   * @param sha256 its digest, in hexadecimal
   */
  record LockPart(Bucket bucket, String sha256) implements Key {}
}
