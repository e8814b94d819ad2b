package dev.cinch.bag.write;

import dev.cinch.bag.format.FrameCodec;
import dev.cinch.bag.fs.FileStatus;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.lease.SignedWitness;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a writer remembers of its data file in one bucket. Confined to the committer.
 *
 * <p>Everything in it describes batches that were written without an error; after one the whole
 * object is dropped (rule A2).
 */
final class BucketFile {
  private static final Logger LOG = LoggerFactory.getLogger(BucketFile.class);

  final Bucket bucket;
  final DataFileName name;
  final Path directory;
  final Path path;
  final Path prelock;

  /** The prelock as it was when the bucket was entered: append, step 2. */
  final FileStatus prelockStatus;

  final FrameCodec codec;

  /** Numbers of the witnesses that stand in the file. */
  final Map<SignedWitness, Integer> witnesses = new HashMap<>();

  /**
   * Open for appending while this process writes to it: from its first batch here until it leaves
   * the bucket, or meets an error.
   */
  @Nullable StoreFile out;

  long length;
  int digest;
  long messages;
  long first;

  /**
   * Whether this process has looked at intents and records since it began to write here, and found
   * none that reaches the bucket.
   */
  boolean passedHorizon;

  BucketFile(
      Bucket bucket, DataFileName name, Path directory, Path prelock, FileStatus prelockStatus) {
    this.bucket = bucket;
    this.name = name;
    this.directory = directory;
    this.path = directory.resolve(name.toString());
    this.prelock = prelock;
    this.prelockStatus = prelockStatus;
    this.codec = new FrameCodec(name);
  }

  /**
   * Closes it, if it is open. An error then concerns no batch: each was forced, or is where
   * everyone sees it, before it was confirmed (rule N4 asks only about what was not).
   */
  void leave() {
    StoreFile open = out;
    out = null;
    if (open == null) {
      return;
    }
    try {
      open.close();
    } catch (IOException e) {
      LOG.debug("{}: left: {}", path, e.toString());
    }
  }
}
