@NullMarked
package dev.cinch.cli.cell;

import org.jspecify.annotations.NullMarked;
