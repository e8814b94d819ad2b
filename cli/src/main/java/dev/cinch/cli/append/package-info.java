/**
 * {@code cinch append}: the lines of standard input or of a file become messages, under leases if
 * asked.
 */
@NullMarked
package dev.cinch.cli.append;

import org.jspecify.annotations.NullMarked;
