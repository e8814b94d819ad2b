/** A program that logs through SLF4J and Logback writes to a store. */
@NullMarked
package dev.cinch.bag.logback;

import org.jspecify.annotations.NullMarked;
