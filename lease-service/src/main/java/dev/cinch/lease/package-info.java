@NullMarked
package dev.cinch.lease;

import org.jspecify.annotations.NullMarked;
