/**
 * Gets every undamaged message out of a damaged store: trusts checksums alone, needs neither {@code
 * store.json} nor an unbroken chain of records, and says what it left.
 */
@NullMarked
package dev.cinch.bag.salvage;

import org.jspecify.annotations.NullMarked;
