/**
 * HTTP/1.1 over connections that are kept, in the thread that asks: what lease servers and object
 * stores have in common. {@link dev.cinch.lease.http.HttpConnections} sends a {@link
 * dev.cinch.lease.http.Request}, and a {@link dev.cinch.lease.http.Reply} is read while it arrives.
 */
@NullMarked
package dev.cinch.lease.http;

import org.jspecify.annotations.NullMarked;
