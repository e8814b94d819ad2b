package dev.cinch.view;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.Storage;
import dev.cinch.view.RetireBlockedException.Kept;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Gathers what can't be removed, so that it keeps nothing else. Not thread-safe. */
@CheckReturnValue
final class Obstacles {
  /** So many are told of one by one. */
  static final int MOST = 10;

  private final Storage storage;
  private final List<Kept> kept = new ArrayList<>();
  private long others;

  Obstacles(Storage storage) {
    this.storage = storage;
  }

  /**
   * An entry could not be removed: its directory does not let this user, or it is in the way.
   *
   * @param entry where the error does not say which
   */
  void add(IOException why, Name entry) throws IOException {
    Name at = entry;
    if (!(why instanceof ForeignEntryException)) {
      String file = why instanceof FileSystemException e ? e.getFile() : null;
      Name failed = file == null ? entry : new Name(file);
      at = failed.parent().text().isEmpty() ? failed : failed.parent();
    }
    addPlace(why, at);
  }

  /** As {@link #add}, of a place that keeps what is in it. */
  void addPlace(IOException why, Name at) throws IOException {
    if (kept.size() == MOST || kept.stream().anyMatch(k -> k.at().equals(at))) {
      others++;
      return;
    }
    try {
      kept.add(new Kept(at, storage.owner(at), why));
    } catch (NoSuchFileException gone) {
      return; // somebody who may has retired it since
    }
  }

  /** What there is to complain of. */
  Optional<RetireBlockedException> complaint(Retention.Plan done) {
    return kept.isEmpty()
        ? Optional.empty()
        : Optional.of(new RetireBlockedException(kept, others, done));
  }

  void complain(Retention.Plan done) throws RetireBlockedException {
    Optional<RetireBlockedException> complaint = complaint(done);
    if (complaint.isPresent()) {
      throw complaint.get();
    }
  }
}
