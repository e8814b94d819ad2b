@NullMarked
package dev.cinch.cli.doctor;

import org.jspecify.annotations.NullMarked;
