@NullMarked
package dev.cinch.cli.store;

import org.jspecify.annotations.NullMarked;
