@NullMarked
package dev.cinch.bag.fs;

import org.jspecify.annotations.NullMarked;
