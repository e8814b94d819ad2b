@NullMarked
package dev.cinch.bag.registry;

import org.jspecify.annotations.NullMarked;
