package dev.cinch.bag.store;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.layout.ListedLog;
import dev.cinch.bag.layout.StoreLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.storage.LogStorage.Freshness;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The list of a store's logs (section 1). An entry is made once a log's identity is durable: so one
 * whose log is not there proves that the log was lost. No entry says nothing: its maker may have
 * stopped before. Thread-safe.
 */
@CheckReturnValue
public final class LogList {
  private static final Logger LOG = LoggerFactory.getLogger(LogList.class);

  private final StoreContext store;

  public LogList(StoreContext store) {
    this.store = store;
  }

  /**
   * Lists a log whose identity is durable. A failure is none: whoever closes does it later.
   *
   * @param log one that was opened
   */
  public void add(ListedLog log) {
    StoreLayout layout = store.layout();
    try {
      try {
        create(log);
      } catch (NoSuchFileException e) { // a copy of a store
        store.storage().prepare(layout.logNames());
        create(log);
      }
    } catch (IOException e) {
      LOG.debug("{}: not listed: {}", layout.logName(log), e.toString());
    }
  }

  private void create(ListedLog log) throws IOException {
    if (store.storage().note(store.layout().logName(log))) {
      store.storage().secure(store.layout().logNames());
    }
  }

  /**
   * Checks that a log which is there is the one that is listed under its name. Asks for its own
   * entry, which takes one look; only without that it lists. No entry at all says nothing.
   *
   * @throws DamagedException if another id is listed, and not this one
   */
  public void check(ListedLog log) throws IOException {
    if (store.storage().isThere(store.layout().logName(log), Freshness.PERMITTED)) {
      return;
    }
    List<ListedLog> named = named(log.name());
    if (!named.isEmpty() && !named.contains(log)) {
      throw new DamagedException(
          store.layout().log(log.name()).root(),
          0,
          "log " + named.get(0).id() + ", which log-names lists",
          "log " + log.id());
    }
  }

  /** What is listed under a name, as fresh as this user may look. */
  public List<ListedLog> named(LogName name) throws IOException {
    return all().stream().filter(l -> l.name().equals(name)).toList();
  }

  /**
   * What is listed and has no directory, past every cache: those logs are gone. Empty for a user
   * who may not create files in the store, and so can't tell.
   */
  public List<ListedLog> gone() throws IOException {
    List<ListedLog> listed = all(); // first: the logs were there before
    Optional<List<String>> there = store.storage().listIfPermitted(store.layout().logs());
    return there.isEmpty()
        ? List.of()
        : listed.stream().filter(l -> !there.get().contains(l.name().value())).toList();
  }

  private List<ListedLog> all() throws IOException {
    var found = new ArrayList<ListedLog>();
    try {
      for (String entry : store.storage().list(store.layout().logNames(), Freshness.PERMITTED)) {
        ListedLog.parse(entry).ifPresent(found::add);
      }
    } catch (NoSuchFileException e) {
      return List.of(); // a copy of a store
    }
    return found;
  }
}
