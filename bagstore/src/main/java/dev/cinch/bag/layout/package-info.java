@NullMarked
package dev.cinch.bag.layout;

import org.jspecify.annotations.NullMarked;
