package dev.cinch.cli.lease;

import dev.cinch.lease.http.ServerAddresses;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Where leases are taken: at servers, or at the nodes of a cell.
 *
 * @param servers of the lease service; null with a cell
 * @param cell the cell's file; null with servers
 */
public record LeasePlace(@Nullable ServerAddresses servers, @Nullable Path cell) {
  private static final String CELL = "cell ";

  static LeasePlace of(ServerAddresses servers) {
    return new LeasePlace(servers, null);
  }

  static LeasePlace of(Path cell) {
    return new LeasePlace(null, cell.toAbsolutePath().normalize());
  }

  /**
   * Reads what {@link #toString} gave.
   *
   * @throws IllegalArgumentException if it is no such thing
   */
  static LeasePlace parse(String text) {
    return text.startsWith(CELL)
        ? of(Path.of(text.substring(CELL.length())))
        : of(ServerAddresses.parse(text));
  }

  boolean isCell() {
    return cell != null;
  }

  /** In one line, unless a path has several. */
  @Override
  public String toString() {
    return cell == null ? String.valueOf(servers) : CELL + cell;
  }
}
