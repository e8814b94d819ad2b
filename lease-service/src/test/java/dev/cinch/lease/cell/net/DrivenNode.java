package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Algorithm;
import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.Message.Memory;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/** A node of a cell without thread and sockets, which a simulation drives. Of one thread. */
public final class DrivenNode {
  private static final CellKey KEY = new CellKey(new byte[CellKey.BYTES]);

  /** The simulation. */
  public interface Surroundings {
    /** The node sends; called within its turns. */
    void send(int to, byte[] datagram);

    /** The node has something to do, and wants a turn. */
    void wake();

    /** Its acceptor has accepted a value. */
    void accepted(Bytes name, Ballot ballot, Bytes value);
  }

  public final CellNode node;
  private final LongSupplier clock;
  private final ArrayDeque<byte[]> come = new ArrayDeque<>();
  private long wait;

  /**
   * @param boot how often it has started
   * @param first whether the cell is new
   * @param times what ballots are at least
   */
  public DrivenNode(
      int id,
      int boot,
      boolean first,
      List<Integer> ids,
      Algorithm algorithm,
      CellSettings settings,
      LongSupplier clock,
      LongSupplier times,
      RandomGenerator random,
      Surroundings around) {
    this.clock = clock;
    var link =
        new Link() {
          @Override
          public boolean receive(ByteBuffer into) {
            byte[] datagram = come.poll();
            if (datagram == null) {
              return false;
            }
            into.put(datagram);
            return true;
          }

          @Override
          public boolean send(int to, ByteBuffer datagram) {
            var bytes = new byte[datagram.remaining()];
            datagram.get(bytes);
            around.send(to, bytes);
            return true;
          }

          @Override
          public void await(long nanos) {
            wait = nanos;
          }

          @Override
          public void wakeUp() {
            around.wake();
          }

          @Override
          public void close() {}
        };
    node =
        CellNode.driven(
            id,
            boot,
            first,
            new CellSettings.CellParts(ids, KEY, algorithm, settings, link, clock, times, random));
    node.listen(
        (name, value) -> {
          Memory last = last(name);
          if (last.known() && last.value().equals(value)) { // and others agreed on the rest
            around.accepted(name, last.ballot(), value);
          }
        });
  }

  /** What its acceptor accepted last. */
  private Memory last(Bytes name) {
    var last = new Memory[1];
    node.loop()
        .acceptor()
        .receive(
            0,
            new Message.Query(name),
            clock.getAsLong(),
            (to, told) -> last[0] = ((Message.Told) told).memory());
    return last[0];
  }

  /** A datagram has come, for the next turn. */
  public void come(byte[] datagram) {
    come.add(datagram);
  }

  /** Does what is to be done; returns in how many nanoseconds of its clock there is more. */
  public long turn() throws java.io.IOException {
    while (node.loop().turn()) {
      // until it would wait
    }
    wait = Long.MAX_VALUE;
    node.loop().await();
    return wait;
  }

  /** How often a handler failed. */
  public long faults() {
    return node.loop().status(clock.getAsLong()).faults();
  }
}
