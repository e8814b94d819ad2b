@NullMarked
package dev.cinch.cli;

import org.jspecify.annotations.NullMarked;
