@NullMarked
package dev.cinch.lease.http;

import org.jspecify.annotations.NullMarked;
