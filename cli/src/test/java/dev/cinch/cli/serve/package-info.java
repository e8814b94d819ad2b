@NullMarked
package dev.cinch.cli.serve;

import org.jspecify.annotations.NullMarked;
