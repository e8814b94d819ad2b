@NullMarked
package dev.cinch.bag.write;

import org.jspecify.annotations.NullMarked;
