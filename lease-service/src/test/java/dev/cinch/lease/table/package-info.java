/** Tests of the rules of a lease, and states of leases for the tests of backends. */
@NullMarked
package dev.cinch.lease.table;

import org.jspecify.annotations.NullMarked;
