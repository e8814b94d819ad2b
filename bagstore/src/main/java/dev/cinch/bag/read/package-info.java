@NullMarked
package dev.cinch.bag.read;

import org.jspecify.annotations.NullMarked;
