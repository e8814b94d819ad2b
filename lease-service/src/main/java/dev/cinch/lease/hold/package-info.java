/**
 * Keeping leases: renewing them in good time and knowing how long it is safe to write (rule L5).
 * Knows no storage; a session feeds it what to report and asks it before each write.
 */
@NullMarked
package dev.cinch.lease.hold;

import org.jspecify.annotations.NullMarked;
