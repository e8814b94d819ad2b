/**
 * The lease service over HTTP/1.1 with JSON bodies: server and client. What travels is described in
 * docs/lease-api.md; {@link dev.cinch.lease.http.LeaseDocuments} and {@link
 * dev.cinch.lease.http.OperationCodec} are the only code that knows field names.
 *
 * <p>TLS: {@link dev.cinch.lease.http.LeaseServer.Builder#tls} and {@link
 * dev.cinch.lease.http.HttpLeaseClient.Builder#credentials} take the certificates.
 */
@NullMarked
package dev.cinch.lease.http;

import org.jspecify.annotations.NullMarked;
