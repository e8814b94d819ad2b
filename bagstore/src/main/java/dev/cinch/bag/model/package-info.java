/**
 * The words: logs, machines, buckets, messages, what became of them, and where all of it stands.
 */
@NullMarked
package dev.cinch.bag.model;

import org.jspecify.annotations.NullMarked;
