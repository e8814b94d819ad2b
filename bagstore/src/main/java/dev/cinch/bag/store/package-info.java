@NullMarked
package dev.cinch.bag.store;

import org.jspecify.annotations.NullMarked;
