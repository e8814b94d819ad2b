/** Programs that show Cinch at work. */
@NullMarked
package dev.cinch.examples;

import org.jspecify.annotations.NullMarked;
