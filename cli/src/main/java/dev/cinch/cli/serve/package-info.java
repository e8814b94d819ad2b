/** {@code cinch serve}, its keys and its shards: the lease server and where its leases are kept. */
@NullMarked
package dev.cinch.cli.serve;

import org.jspecify.annotations.NullMarked;
