/** The examples of docs/library.md, each a program of its own. */
@NullMarked
package dev.cinch.examples.library;

import org.jspecify.annotations.NullMarked;
