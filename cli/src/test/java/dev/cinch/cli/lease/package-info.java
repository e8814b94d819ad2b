@NullMarked
package dev.cinch.cli.lease;

import org.jspecify.annotations.NullMarked;
