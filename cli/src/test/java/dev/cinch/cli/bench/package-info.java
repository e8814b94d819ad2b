/** What commands cost, counted. */
@org.jspecify.annotations.NullMarked
package dev.cinch.cli.bench;
