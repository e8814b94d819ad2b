/**
 * The two kinds of file that hold messages: data files, which grow until their bucket is over, and
 * settled files, which nobody changes. Each is read by itself here; which of them count is said
 * above.
 */
@org.jspecify.annotations.NullMarked
package dev.cinch.bag.file;
