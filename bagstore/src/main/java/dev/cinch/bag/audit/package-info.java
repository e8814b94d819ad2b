/**
 * Checks afterwards that a store holds what it must: every byte ({@code verify}), and that nobody
 * wrote under a lease that was somebody else's ({@code audit}, section 8). Gets every undamaged
 * message out of a damaged store ({@code salvage}): by checksums alone, without {@code store.json}
 * or an unbroken chain of records. Changes nothing.
 */
@NullMarked
package dev.cinch.bag.audit;

import org.jspecify.annotations.NullMarked;
