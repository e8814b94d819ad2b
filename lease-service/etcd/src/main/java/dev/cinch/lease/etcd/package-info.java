/**
 * Leases whose states etcd keeps: {@link dev.cinch.lease.etcd.EtcdRegister} over jetcd's stubs of
 * gRPC. {@code docs/decisions/etcd.md} says why not over all of jetcd.
 */
@NullMarked
package dev.cinch.lease.etcd;

import org.jspecify.annotations.NullMarked;
