/** Bags in this process's memory: the smallest storage that keeps every promise. */
@org.jspecify.annotations.NullMarked
package dev.cinch.bag.storage.memory;
