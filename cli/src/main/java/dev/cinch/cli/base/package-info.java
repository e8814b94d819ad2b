/** What all commands share: options, ways to print, errors and exit codes. */
@NullMarked
package dev.cinch.cli.base;

import org.jspecify.annotations.NullMarked;
