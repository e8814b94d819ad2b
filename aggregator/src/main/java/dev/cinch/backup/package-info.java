/** Copies of a store: how they are made, and what they need before they are written to. */
@NullMarked
package dev.cinch.backup;

import org.jspecify.annotations.NullMarked;
