/**
 * Leases of a cell without a server in between: whoever takes them proposes, and the cell's nodes
 * accept and sign (docs/cell.md, "Clients that propose").
 */
@NullMarked
package dev.cinch.lease.direct;

import org.jspecify.annotations.NullMarked;
