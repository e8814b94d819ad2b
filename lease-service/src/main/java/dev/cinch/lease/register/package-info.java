/**
 * Leases whose states several machines keep. {@link dev.cinch.lease.register.StateRegister} is
 * where they are: a value for each name, which is read and replaced in one step. {@link
 * dev.cinch.lease.register.RegisterBackend} makes a backend of any of them, with the rules of
 * {@code table}; {@link dev.cinch.lease.register.CellRegister} has them at a cell of {@code
 * cell.net}, the module {@code lease-service/etcd} in etcd.
 */
@NullMarked
package dev.cinch.lease.register;

import org.jspecify.annotations.NullMarked;
