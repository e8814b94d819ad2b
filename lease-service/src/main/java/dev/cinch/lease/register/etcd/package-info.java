/**
 * Leases whose states etcd keeps: {@link dev.cinch.lease.register.etcd.EtcdRegister} over etcd's
 * JSON gateway. {@code docs/decisions/etcd.md} says why not over a client library.
 */
@NullMarked
package dev.cinch.lease.register.etcd;

import org.jspecify.annotations.NullMarked;
