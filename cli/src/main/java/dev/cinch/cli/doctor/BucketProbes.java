package dev.cinch.cli.doctor;

import dev.cinch.bag.storage.object.s3.BucketSettings;
import dev.cinch.cli.base.Failure;
import dev.cinch.cli.base.Output;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** Says which settings of a bucket harm a store, as far as this user may see them. */
final class BucketProbes {
  private final BucketSettings settings;
  private final String prefix;
  private final Diagnosis diagnosis;

  /**
   * @param prefix of the store's keys
   */
  BucketProbes(BucketSettings settings, String prefix, Diagnosis diagnosis) {
    this.settings = settings;
    this.prefix = prefix;
    this.diagnosis = diagnosis;
  }

  void run() throws IOException {
    look("lifecycle rules", "a rule with an expiration deletes messages", this::lifecycle);
    look("versioning", "with versions what is deleted stays, and costs", this::versioning);
    look("object lock", "with a lock deletion may be refused", this::lock);
  }

  /** What a server does not have, or not for this user, harms nobody by that. */
  private void look(String what, String meaning, Diagnosis.Probe probe) throws IOException {
    try {
      probe.look();
    } catch (Output.ClosedException e) {
      throw e;
    } catch (IOException e) {
      diagnosis.note(what + " could not be seen: " + Failure.of(e).line(), meaning);
    }
  }

  private void lifecycle() throws IOException {
    List<String> rules = settings.expirations(prefix);
    if (rules.isEmpty()) {
      diagnosis.ok("no lifecycle rule deletes objects", "messages stay until gc or expire");
    } else {
      diagnosis.fail(
          "lifecycle rules delete objects: " + String.join(", ", rules),
          "messages would be lost; take the expiration out, or the store's prefix");
    }
  }

  private void versioning() throws IOException {
    Optional<String> status = settings.versioning();
    if (status.isEmpty()) {
      diagnosis.ok("no versions", "what is deleted is gone");
    } else {
      diagnosis.note(
          "versioning is " + status.get(),
          "what was deleted while it was enabled stays as an old version, and costs; a lifecycle"
              + " rule for noncurrent versions removes it");
    }
  }

  private void lock() throws IOException {
    if (settings.locksObjects()) {
      diagnosis.warn("object lock is enabled", "gc may be refused, and what is deleted stays");
    } else {
      diagnosis.ok("no object lock", "gc may delete");
    }
  }
}
