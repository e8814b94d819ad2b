/** Views and retention (section 10): segments of settled messages, and the end of old buckets. */
@NullMarked
package dev.cinch.view;

import org.jspecify.annotations.NullMarked;
