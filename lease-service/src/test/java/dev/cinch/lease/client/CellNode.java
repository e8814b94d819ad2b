package dev.cinch.lease.client;

import dev.cinch.lease.ChangeListener;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.ShardServers;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.server.LeaseServer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;

/**
 * One of several servers that serve the same leases with the same number. It knows the grants that
 * it made or resumed itself, and no others.
 */
final class CellNode implements LeaseHost, AutoCloseable {
  /** What it does before it carries anything out. */
  interface Trouble {
    void happen() throws LeaseRefusedException, LeaseUnavailableException;
  }

  private final ServiceInstance cell;
  private final Set<Id> known = ConcurrentHashMap.newKeySet();
  private final CountDownLatch ended = new CountDownLatch(1);
  private final LeaseServer server;

  /** What was asked, in order; what it did not carry out, too. */
  final List<String> asked = new CopyOnWriteArrayList<>();

  volatile Trouble before = () -> {};

  /** What it says of the servers of its store. */
  volatile ShardServers shards = ShardServers.ALONE;

  /** After it has carried out what was asked, and before it answers. */
  volatile Trouble after = () -> {};

  CellNode(ServiceInstance cell) throws IOException {
    this.cell = cell;
    server = LeaseServer.builder(this, cell::info).port(0).start();
  }

  String address() {
    return server.uri().toString();
  }

  /** Answers nothing any more, until it is closed. */
  void hang() throws LeaseUnavailableException {
    try {
      ended.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    throw new LeaseUnavailableException("it hung", null);
  }

  static void starting() throws LeaseUnavailableException {
    throw new LeaseUnavailableException("the lease service is starting", null);
  }

  static void cutOff() throws LeaseRefusedException {
    throw new LeaseRefusedException(Reason.NOT_YET, "the cell does not answer", 700);
  }

  private interface Call<T> {
    T carryOut() throws LeaseRefusedException, LeaseUnavailableException;
  }

  private <T> T answer(String what, Call<T> call)
      throws LeaseRefusedException, LeaseUnavailableException {
    asked.add(what);
    before.happen();
    T done = call.carryOut();
    after.happen();
    return done;
  }

  @Override
  public List<Outcome> carryOut(List<Operation> operations) throws LeaseUnavailableException {
    var outcomes = new ArrayList<Outcome>();
    for (Operation operation : operations) {
      try {
        String what = operation.getClass().getSimpleName().toLowerCase(Locale.ROOT);
        outcomes.add(answer(what, () -> one((Operation.Secret) operation)));
      } catch (LeaseRefusedException e) {
        outcomes.add(new Outcome.Refused(e));
      }
    }
    return outcomes;
  }

  private Outcome one(Operation.Secret operation)
      throws LeaseRefusedException, LeaseUnavailableException {
    Operation asked = operation;
    boolean makesKnown = operation instanceof Operation.Acquire;
    if (operation instanceof Operation.Resume resume) {
      asked =
          new Operation.Renew(resume.id(), resume.durationMs(), LogSet.NONE, LeaseReport.NOTHING);
      makesKnown = true;
    } else if (!makesKnown && !known.contains(operation.id())) {
      throw new LeaseRefusedException(Reason.NOT_MET, "not granted here: resume it", 0);
    }
    Outcome outcome = cell.carryOut(asked);
    outcome.requireDone();
    if (makesKnown) {
      known.add(operation.id());
    }
    return outcome;
  }

  @Override
  public boolean listen(ChangeListener listener) {
    return cell.listen(listener);
  }

  @Override
  public Optional<LeaseInfo> show(LeaseName name) throws LeaseUnavailableException {
    return told("show", () -> cell.show(name));
  }

  @Override
  public List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit)
      throws LeaseUnavailableException {
    return told("list", () -> cell.list(prefix, after, limit));
  }

  @Override
  public long now() throws LeaseUnavailableException {
    return told("now", cell::now);
  }

  @Override
  public ShardServers shards() {
    return shards;
  }

  private <T> T told(String what, Call<T> call) throws LeaseUnavailableException {
    try {
      return answer(what, call);
    } catch (LeaseRefusedException e) {
      throw new LeaseUnavailableException(String.valueOf(e.getMessage()), e);
    }
  }

  /** Waits until so many requests wait here for leases. */
  void awaitWaiting(int count) {
    while (server.waiting() != count) {
      Thread.onSpinWait();
    }
  }

  /** Ends it in an orderly way; how many requests were cut off. */
  int drain() {
    return server.drain().toCompletableFuture().join();
  }

  /** Ends it: whoever asks finds nobody there. */
  @Override
  public void close() throws IOException {
    ended.countDown();
    server.close();
  }
}
