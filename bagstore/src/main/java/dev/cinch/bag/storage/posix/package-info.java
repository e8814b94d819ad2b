/** Bags on POSIX and network filesystems: storage-posix.md, rules N1 to N7. */
@org.jspecify.annotations.NullMarked
package dev.cinch.bag.storage.posix;
