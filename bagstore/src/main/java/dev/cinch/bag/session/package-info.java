@NullMarked
package dev.cinch.bag.session;

import org.jspecify.annotations.NullMarked;
