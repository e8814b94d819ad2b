/**
 * Signed witnesses: their bytes, their signatures, the keys. The only user of Bouncy Castle.
 *
 * <p>A <b>witness payload</b>, little-endian except for ids, which are 16 bytes with the most
 * significant first; every number of time is signed 64-bit nanoseconds since the Unix epoch:
 *
 * <pre>
 * offset bytes  content
 *      0     4  length of the payload, these bytes included: 139 to 32,648
 *      4     3  "CLW"
 *      7     1  version: 3; 4 for a lease that was resumed (protocol, rule L10)
 *      8     1  1 if the lease is tentative, else 0
 *      9     1  how the lease before ended: 0 none, 1 released, 2 broken, 3 unknown
 *     10     1  1 if the correlation of the lease before is known, else 0
 *     11     1  where the bound of time comes from: 1 assumed, 2 measured
 *     12     8  instance, from 1
 *     20     8  generation, from 1
 *     28     8  expiry
 *     36     8  issued at
 *     44    16  correlation
 *     60    16  correlation of the lease before; zeros if unknown
 *     76     8  when the lease before ended; -2^63 if unknown or none
 *     84     8  watermark; -2^63 for none
 *     92     8  when the service was told the watermark; -2^63 for none
 *    100     8  fence; -2^63 for none
 *    108     8  the earliest that it could be at the time of issue
 *    116     8  the latest that it could be then
 *    124     8  the latest that it could be when the service was told the watermark; -2^63 if
 *               unknown or none
 *            2  n: logs that may be written to, at most 1,000; 65,535 for all
 *         16 n  their ids, ascending (none for all)
 *            2  m: logs that the fence concerns, as n
 *         16 m  their ids, ascending
 *            1  length of the name, 1 to 255
 *               the name, ASCII
 *            1  length of the holder, 0 to 255
 *               the holder, UTF-8
 * </pre>
 *
 * <p>A <b>signed witness</b>:
 *
 * <pre>
 * offset bytes  content
 *      0     p  the payload; its first 4 bytes give p
 *      p     8  key id: the first 8 bytes of SHA-256 of the public key's 32 bytes
 *    p+8    64  Ed25519 signature (RFC 8032) of bytes 0 to p, or of a tree's root
 *   p+72     4  number of the leaf, from 0, below 2^d   | only where
 *   p+76  32 d  the path, the lowest hash first         | it shares its signature
 * </pre>
 *
 * <p>Its length says which form it has: p + 72 for a signature of its own, p + 76 + 32 d for one
 * shared with others, d from 1 to 16. A shared signature is of {@code "cinch witness tree 1\n"} in
 * ASCII and the root's 32 bytes. A leaf's hash is SHA-256 of a byte 0 and the payload, a node's
 * that of a byte 1, the left hash and the right one; where a level has an odd number, the last
 * stands left of 32 zeros. Bit k of the leaf's number says whether hash k of the path stands left
 * (1) or right (0) of the way.
 *
 * <p>There is one encoding of a payload and no other is read: equal witnesses have equal payloads.
 * Their signed bytes may differ by what was signed together with them. Source: blog post, "Making
 * this debuggable"; docs/leases.md.
 */
@NullMarked
package dev.cinch.lease.witness;

import org.jspecify.annotations.NullMarked;
