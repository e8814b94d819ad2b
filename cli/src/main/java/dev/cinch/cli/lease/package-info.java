/** {@code cinch lease}: acquiring, renewing, watching and running under leases. */
@NullMarked
package dev.cinch.cli.lease;

import org.jspecify.annotations.NullMarked;
