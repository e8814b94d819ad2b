package dev.cinch.lease.register.etcd;

import com.fasterxml.jackson.databind.JsonNode;
import dev.cinch.lease.register.etcd.EtcdFailure.Kind;
import java.net.URI;
import org.jspecify.annotations.Nullable;

/**
 * Whether answers come from the etcd that was met first, with all that it had: one that was
 * emptied, or restored from a backup, has forgotten leases that may still be held, and nothing of
 * it may be believed any more. Seen only by the process that met it before. Thread-safe.
 */
final class Lineage {
  private @Nullable String cluster;
  private long revision;

  /** Why nothing is believed any more. */
  private @Nullable String lost;

  /** The highest revision seen: to be asked for before a request, which has to see it too. */
  synchronized long seen() {
    return revision;
  }

  /** Refuses if an earlier answer showed that etcd had forgotten something. */
  synchronized void require() throws EtcdFailure {
    if (lost != null) {
      throw new EtcdFailure(Kind.REFUSED, lost);
    }
  }

  /**
   * Looks at an answer.
   *
   * @param header of the answer
   * @param atLeast the revision that it has to have; 0 for one that may be of the past
   */
  synchronized void check(URI endpoint, JsonNode header, long atLeast) throws EtcdFailure {
    require();
    String id = header.path("cluster_id").asText();
    if (cluster == null) {
      cluster = id;
    } else if (!cluster.equals(id)) {
      throw new EtcdFailure(
          Kind.NOT_DONE,
          "etcd at %s is of cluster %s, and others are of %s; name endpoints of one cluster"
              .formatted(endpoint, id, cluster));
    }
    long now = header.path("revision").asLong();
    if (now < atLeast) {
      lost =
          ("etcd at %s is at revision %d, and was at %d: it was emptied or restored from a backup;"
                  + " start a new instance of the lease service")
              .formatted(endpoint, now, atLeast);
      require();
    }
    revision = Math.max(revision, now);
  }
}
