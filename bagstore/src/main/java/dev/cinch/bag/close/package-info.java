@NullMarked
package dev.cinch.bag.close;

import org.jspecify.annotations.NullMarked;
