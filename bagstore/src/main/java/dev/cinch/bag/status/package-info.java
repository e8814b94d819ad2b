/** How a store is doing, without reading its messages. */
@NullMarked
package dev.cinch.bag.status;

import org.jspecify.annotations.NullMarked;
