/** A shared filesystem that behaves like a network filesystem with caches, and fails like one. */
@NullMarked
package dev.cinch.sim.fs;

import org.jspecify.annotations.NullMarked;
