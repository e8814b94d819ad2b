@NullMarked
package dev.cinch.lease.memory;

import org.jspecify.annotations.NullMarked;
