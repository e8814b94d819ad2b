/** What a lease service asks of the store that its users share. */
@NullMarked
package dev.cinch.lease.service;

import org.jspecify.annotations.NullMarked;
