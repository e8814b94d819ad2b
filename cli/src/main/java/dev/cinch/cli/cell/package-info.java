/** {@code cinch cell}: makes cells of lease servers, and looks at them. */
@NullMarked
package dev.cinch.cli.cell;

import org.jspecify.annotations.NullMarked;
