package dev.cinch.lease.cell.net;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/** A link of a test that carries by hand: what is sent lies there, and what comes is put in. */
final class QueuedLink implements Link {
  /** A datagram on its way. */
  record Sent(int to, byte[] bytes) {}

  final List<Sent> sent = new ArrayList<>();
  private final ArrayDeque<byte[]> come = new ArrayDeque<>();

  void come(byte[] datagram) {
    come.add(datagram);
  }

  @Override
  public boolean receive(ByteBuffer into) {
    byte[] datagram = come.poll();
    if (datagram == null) {
      return false;
    }
    into.put(datagram, 0, Math.min(datagram.length, into.remaining()));
    return true;
  }

  @Override
  public boolean send(int node, ByteBuffer datagram) {
    var bytes = new byte[datagram.remaining()];
    datagram.get(bytes);
    return sent.add(new Sent(node, bytes));
  }

  @Override
  public void await(long nanos) {}

  @Override
  public void wakeUp() {}

  @Override
  public void close() {}
}
