/**
 * A client of S3 and what speaks as it does. {@link dev.cinch.bag.storage.object.s3.S3Objects}
 * sends requests, a {@link dev.cinch.bag.storage.object.s3.CredentialChain} finds who asks.
 */
@org.jspecify.annotations.NullMarked
package dev.cinch.bag.storage.object.s3;
