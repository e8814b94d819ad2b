@NullMarked
package dev.cinch.cli.base;

import org.jspecify.annotations.NullMarked;
