/** What the fuzz tests of data files and segments begin with. */
@NullMarked
package dev.cinch.bag.fuzz;

import org.jspecify.annotations.NullMarked;
