/**
 * The command line {@code cinch}: parse, call, print. One class a command; {@link
 * dev.cinch.cli.Failure} turns whatever goes wrong into one line and an exit code.
 */
@NullMarked
package dev.cinch.cli;

import org.jspecify.annotations.NullMarked;
