/**
 * Signed witnesses: their bytes, their signatures, the keys. The only user of Bouncy Castle.
 *
 * <p>A <b>witness payload</b>, little-endian except for ids, which are 16 bytes with the most
 * significant first; every number of time is signed 64-bit nanoseconds since the Unix epoch:
 *
 * <pre>
 * offset bytes  content
 *      0     4  length of the payload, these bytes included: 115 to 32,624
 *      4     3  "CLW"
 *      7     1  version: 1; 2 for a lease that was resumed (protocol, rule L10)
 *      8     1  1 if the lease is tentative, else 0
 *      9     1  how the lease before ended: 0 none, 1 released, 2 broken, 3 unknown
 *     10     1  1 if the correlation of the lease before is known, else 0
 *     11     1  0
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
 *    108     2  n: logs that may be written to, at most 1,000; 65,535 for all
 *    110  16 n  their ids, ascending (none for all)
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
 *    p+8    64  Ed25519 signature (RFC 8032) of bytes 0 to p
 * </pre>
 *
 * <p>There is one encoding of a witness and no other is read: equal witnesses have equal bytes, and
 * Ed25519 is deterministic, so equal signed bytes. Source: blog post, "Making this debuggable";
 * protocol, section 6.
 */
@NullMarked
package dev.cinch.lease.witness;

import org.jspecify.annotations.NullMarked;
