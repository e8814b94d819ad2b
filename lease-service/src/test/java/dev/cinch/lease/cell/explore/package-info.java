/**
 * Goes through every order of events of a small cell, with the real machines of both algorithms.
 */
@NullMarked
package dev.cinch.lease.cell.explore;

import org.jspecify.annotations.NullMarked;
