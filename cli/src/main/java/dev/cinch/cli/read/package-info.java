/**
 * {@code cinch cat} and {@code cinch view}: messages printed, and what segments of them are made
 * and removed.
 */
@NullMarked
package dev.cinch.cli.read;

import org.jspecify.annotations.NullMarked;
