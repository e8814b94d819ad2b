/** Microbenchmarks and turns with other lease services; see docs/benchmarks.md. */
@NullMarked
package dev.cinch.lease.bench;

import org.jspecify.annotations.NullMarked;
