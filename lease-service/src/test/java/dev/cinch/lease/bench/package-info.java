/** Microbenchmarks: {@code java -cp ... org.openjdk.jmh.Main Lease}; see docs/benchmarks.md. */
@NullMarked
package dev.cinch.lease.bench;

import org.jspecify.annotations.NullMarked;
