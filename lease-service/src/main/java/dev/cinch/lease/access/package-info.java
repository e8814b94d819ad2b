/** Who may do what with leases: tokens, their rights by prefixes of names, and their file. */
@NullMarked
package dev.cinch.lease.access;

import org.jspecify.annotations.NullMarked;
