package dev.cinch.bag.store;

/**
 * What a record of a log says of keys (rule F3).
 *
 * @param keys how many apply, from the first
 * @param digest of these, as its closer read them
 */
public record KeyCount(int keys, String digest) {}
