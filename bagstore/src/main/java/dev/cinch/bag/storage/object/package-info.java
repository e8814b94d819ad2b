/** A storage that an object store has, and the requests by which it is asked. */
@NullMarked
package dev.cinch.bag.storage.object;

import org.jspecify.annotations.NullMarked;
