/** What the protocol needs of an object store: whole objects that are put if absent. */
@org.jspecify.annotations.NullMarked
package dev.cinch.bag.storage.object;
