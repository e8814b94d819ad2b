/**
 * What travels between clients and servers of leases, as JSON over HTTP/1.1 (docs/lease-api.md):
 * {@link dev.cinch.lease.wire.LeaseDocuments} and {@link dev.cinch.lease.wire.OperationCodec} alone
 * know names of fields, each once for both directions.
 */
@NullMarked
package dev.cinch.lease.wire;

import org.jspecify.annotations.NullMarked;
