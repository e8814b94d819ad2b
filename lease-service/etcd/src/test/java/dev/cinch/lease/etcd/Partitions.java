package dev.cinch.lease.etcd;

import com.google.protobuf.Message;
import dev.cinch.lease.time.SystemTime;
import io.etcd.jetcd.api.ClusterGrpc;
import io.etcd.jetcd.api.MaintenanceGrpc;
import io.etcd.jetcd.api.Member;
import io.etcd.jetcd.api.MemberListRequest;
import io.etcd.jetcd.api.StatusRequest;
import io.etcd.jetcd.api.StatusResponse;
import io.grpc.MethodDescriptor;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The network between the members of an etcd: a relay in front of each one's port for peers. What
 * one member sends to another may be lost, in one direction or both; connections stay open, as they
 * do where packets are lost. Thread-safe.
 */
final class Partitions implements AutoCloseable {
  private record Way(int from, int to) {}

  private final List<PeerRelay> relays = new ArrayList<>();
  private final Set<Way> cut = ConcurrentHashMap.newKeySet();

  /** Members by their ids, as they name themselves to each other. */
  private volatile Map<String, Integer> members = Map.of();

  /** Puts a relay before the port of the next member; the others are to be told its address. */
  URI before(URI peer) throws IOException {
    var relay = new PeerRelay(peer, relays.size(), this);
    relays.add(relay);
    return relay.uri();
  }

  /** Asks who is who, once they run. */
  void learn(URI member) {
    var known = new ConcurrentHashMap<String, Integer>();
    var request = MemberListRequest.getDefaultInstance();
    for (Member each : ask(member, ClusterGrpc.getMemberListMethod(), request).getMembersList()) {
      known.put(Long.toHexString(each.getID()), Integer.parseInt(each.getName().substring(1)));
    }
    if (known.size() != relays.size()) {
      throw new AssertionError("not the members: " + known);
    }
    members = known;
  }

  /** Which of these members leads, by its own account. */
  int leader(List<URI> clients) {
    while (true) {
      for (int i = 0; i < clients.size(); i++) {
        StatusResponse status =
            ask(
                clients.get(i),
                MaintenanceGrpc.getStatusMethod(),
                StatusRequest.getDefaultInstance());
        if (status.getLeader() == status.getHeader().getMemberId()) {
          return i;
        }
      }
    }
  }

  private static <Q extends Message, A extends Message> A ask(
      URI member, MethodDescriptor<Q, A> method, Q request) {
    try (var calls =
        new EtcdCalls(EtcdCluster.at(List.of(member)), SystemTime.INSTANCE, new Random(1))) {
      return calls.ask(method, request, calls.now() + 60_000_000_000L).join();
    }
  }

  /** What one sends does not come to the other from now on. */
  void cut(int from, int to) {
    cut.add(new Way(from, to));
  }

  void heal() {
    cut.clear();
    relays.forEach(PeerRelay::dropBroken);
  }

  boolean isCut(int from, int to) {
    return cut.contains(new Way(from, to));
  }

  /** Which member it is; -1 before that is known, or if it is none. */
  int member(String id) {
    return members.getOrDefault(id, -1);
  }

  @Override
  public void close() throws IOException {
    for (PeerRelay relay : relays) {
      relay.close();
    }
  }
}
