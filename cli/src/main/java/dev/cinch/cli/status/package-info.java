/** How a store is: the command, and what the lease server tells of it. */
@NullMarked
package dev.cinch.cli.status;

import org.jspecify.annotations.NullMarked;
