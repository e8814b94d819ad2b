@NullMarked
package dev.cinch.lease.witness;

import org.jspecify.annotations.NullMarked;
