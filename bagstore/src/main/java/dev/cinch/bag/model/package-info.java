/** The words: logs, machines, buckets, messages and what became of them. */
@NullMarked
package dev.cinch.bag.model;

import org.jspecify.annotations.NullMarked;
