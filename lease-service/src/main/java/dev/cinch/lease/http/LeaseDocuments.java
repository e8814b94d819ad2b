package dev.cinch.lease.http;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.ServiceInfo;

/** What the API answers, as JSON, for programs that print it. */
public final class LeaseDocuments {
  private LeaseDocuments() {}

  /** As an acquire, a renewal and an upgrade are answered. */
  public static ObjectNode grant(Grant grant) {
    return WireWriter.grant(grant, Wire.JSON);
  }

  /** As {@code GET /v1/leases/NAME} is answered. */
  public static ObjectNode info(LeaseInfo info) {
    return WireWriter.info(info);
  }

  /** As a revoke request is answered. */
  public static ObjectNode revoked(Outcome.Revoked revoked) {
    return OperationCodec.write(revoked);
  }

  /** As {@code GET /v1/service} is answered. */
  public static ObjectNode service(ServiceInfo info) {
    return WireWriter.service(info);
  }
}
