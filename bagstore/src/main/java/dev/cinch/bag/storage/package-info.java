/** What the protocol asks of a place that keeps bags: protocol.md, section 1. */
@org.jspecify.annotations.NullMarked
package dev.cinch.bag.storage;
