/** Commands about a store as a whole: making, closing, checking, salvaging and emptying it. */
@NullMarked
package dev.cinch.cli.store;

import org.jspecify.annotations.NullMarked;
