/** For the tests of programs that use a store. */
@NullMarked
package dev.cinch.bag.testkit;

import org.jspecify.annotations.NullMarked;
