@NullMarked
package dev.cinch.bag;

import org.jspecify.annotations.NullMarked;
