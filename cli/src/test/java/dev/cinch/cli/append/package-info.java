@NullMarked
package dev.cinch.cli.append;

import org.jspecify.annotations.NullMarked;
