@NullMarked
package dev.cinch.view;

import org.jspecify.annotations.NullMarked;
