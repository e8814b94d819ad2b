/**
 * Roughtime as in draft-ietf-ntp-roughtime-19 (RFC 10049): its bytes, signatures and rules, without
 * sockets and clocks. The wire says version 1, or 0x8000000c where implementations of the drafts
 * are met; both have the same bytes, and we offer and accept both.
 *
 * <p>A <b>packet</b> is {@code ROUGHTIM}, the length of the message, 4 bytes little-endian, and the
 * message. A <b>message</b> maps tags to values: the number of tags, where each value but the first
 * begins, the tags, ascending as unsigned numbers, then the values. A <b>request</b> has VER, NONC,
 * TYPE 0, SRV, and ZZZZ up to 1,024 bytes. A <b>response</b> is
 *
 * <pre>
 *   SIG   Ed25519 signature of "RoughTime v1 response signature\0" and SREP, by PUBK
 *   NONC  the nonce of the request
 *   TYPE  1
 *   PATH  the siblings from the request to ROOT, 32 bytes each
 *   SREP  VER, RADI and MIDP in seconds, VERS, ROOT
 *   CERT  SIG of "RoughTime v1 delegation signature\0" and DELE, by the long-term key;
 *         DELE: PUBK, and MINT to MAXT, when it may sign
 *   INDX  the place of the request among the leaves; its bits say left or right
 * </pre>
 *
 * <p>H is the first 32 bytes of SHA-512; a leaf is H(0, request packet), a node H(1, left, right).
 * SRV is H(255, long-term key). In a chain, a nonce is H(response packet before, 32 random bytes).
 */
@NullMarked
package dev.cinch.lease.time.roughtime;

import org.jspecify.annotations.NullMarked;
