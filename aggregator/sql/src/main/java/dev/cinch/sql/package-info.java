/** SQL over logs, by DuckDB: an add-on, which nobody else depends on. */
@NullMarked
package dev.cinch.sql;

import org.jspecify.annotations.NullMarked;
