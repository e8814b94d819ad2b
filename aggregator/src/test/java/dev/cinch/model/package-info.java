/** Runs the exhaustive models in {@code docs/models}. */
@NullMarked
package dev.cinch.model;

import org.jspecify.annotations.NullMarked;
