@NullMarked
package dev.cinch.bag.format;

import org.jspecify.annotations.NullMarked;
