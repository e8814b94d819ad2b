/**
 * Histories of calls by several clients, and whether they can be explained; see
 * docs/testing/simulation.md.
 */
@NullMarked
package dev.cinch.lease.history;

import org.jspecify.annotations.NullMarked;
