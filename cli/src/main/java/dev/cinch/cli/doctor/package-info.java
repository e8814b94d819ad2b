/** {@code cinch doctor}: what may be wrong with a mount, a filesystem or a store. */
@NullMarked
package dev.cinch.cli.doctor;

import org.jspecify.annotations.NullMarked;
