package dev.cinch.bag.format;

/**
 * By which bytes of a segment a checkpoint knows it (rule R1).
 *
 * @param sha256 of the whole file, 64 lower-case hexadecimal digits
 * @param index SHA-256 of its header, its index block with the head, and its trailer, one after
 *     another: who opens a segment reads these, and they say where everything else stands
 */
public record SegmentDigests(String sha256, String index) {}
