package dev.cinch.bag.storage;

import dev.cinch.bag.model.Bucket;

/** The name of a document of a log, which is written once. */
public sealed interface Key {
  /** Says which log it is. */
  record Identity() implements Key {}

  /** A record of the horizon (section 4). */
  record Record(long number) implements Key {}

  /**
   * Says what bytes a record holds; has no content.
   *
   * @param digest SHA-256 of the record, in hexadecimal
   */
  record RecordSeal(long number, String digest) implements Key {}

  /** Says how far the log was retired (rule R2). */
  record Checkpoint(long number) implements Key {}

  /** Says how far the log expired (rule R4). */
  record Floor(long segment) implements Key {}

  /** Messages of retired buckets. */
  record Segment(long number) implements Key {}

  /** What exists in a bucket. */
  record Lock(Bucket bucket) implements Key {}

  /**
   * A part of a lock.
   *
   * @param sha256 its digest, in hexadecimal
   */
  record LockPart(Bucket bucket, String sha256) implements Key {}
}
