@NullMarked
package dev.cinch.cli.read;

import org.jspecify.annotations.NullMarked;
