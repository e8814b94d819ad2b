/** What the fuzz tests of all modules share. */
@NullMarked
package dev.cinch.fuzz;

import org.jspecify.annotations.NullMarked;
