package dev.cinch.bag.format;

/**
 * The trailer of a frame; see {@link Frame}.
 *
 * @param frameOffset where its frame begins
 * @param digest of the file up to and with this batch
 * @param messages in the file up to and with this batch
 * @param first timestamp of the first message in the file
 * @param last timestamp of the last message of this batch
 */
public record Trailer(long frameOffset, int digest, long messages, long first, long last) {}
