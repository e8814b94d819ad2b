package dev.cinch.bag.audit;

import java.nio.file.Path;

/** Counts while verifying, and passes on. Not thread-safe. */
final class Tally {
  private final VerifyListener listener;
  private long files;
  private long bytes;
  long logs;
  long records;
  long buckets;
  long messages;
  private long damage;
  private long covered;
  private long notes;

  Tally(VerifyListener listener) {
    this.listener = listener;
  }

  VerifyListener listener() {
    return listener;
  }

  void found(Finding f) {
    switch (f.severity()) {
      case DAMAGE -> damage++;
      case COVERED -> covered++;
      case NOTE -> notes++;
    }
    listener.found(f);
  }

  void read(Path file, long size) {
    files++;
    bytes += size;
    listener.progress(file, summary());
  }

  VerifySummary summary() {
    return new VerifySummary(
        files, bytes, logs, records, buckets, messages, damage, covered, notes);
  }
}
