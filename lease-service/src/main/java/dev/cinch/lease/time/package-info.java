@NullMarked
package dev.cinch.lease.time;

import org.jspecify.annotations.NullMarked;
