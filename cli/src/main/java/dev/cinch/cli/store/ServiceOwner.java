package dev.cinch.cli.store;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.cli.base.Failure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.UserPrincipal;
import java.nio.file.attribute.UserPrincipalNotFoundException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Makes what only the lease server writes its user's alone: {@code service/}, {@code keys/}, and
 * the store's own directory, by which both could be replaced. Others of the group read it.
 */
@CheckReturnValue
final class ServiceOwner {
  private static final int OTHERS_WRITE = 0022;

  private final UserPrincipal user;

  private ServiceOwner(UserPrincipal user) {
    this.user = user;
  }

  /**
   * Looks the user up, before anything is made.
   *
   * @throws Failure.Refusal if there is none of that name, or only root could give it files
   */
  static ServiceOwner of(String name) throws IOException {
    Path here = Path.of("").toAbsolutePath();
    UserPrincipal user;
    try {
      user = here.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName(name);
    } catch (UserPrincipalNotFoundException e) {
      throw new Failure.Refusal("--owner " + name + ": no such user");
    }
    String own = System.getProperty("user.name");
    if (!name.equals(own) && !own.equals("root")) {
      throw new Failure.Refusal(
          "--owner %s: only root gives files to another user, and this is %s".formatted(name, own));
    }
    return new ServiceOwner(user);
  }

  /** Of a store that was just made. */
  void own(StoreContext store) throws IOException {
    StoreLayout layout = store.layout();
    PosixStore files = PosixStore.of(store.storage());
    for (Name directory : List.of(layout.ends(), layout.revocations())) {
      boolean unused = files.fresh().ensureDirectory(files.path(directory), files.directoryMode());
    }
    var all =
        new ArrayList<>(
            List.of(
                layout.settings(),
                layout.limits(),
                layout.instances(),
                layout.ceilings(),
                layout.ends(),
                layout.revocations(),
                layout.service()));
    for (String name : files.fs().list(files.path(layout.keys()))) {
      all.add(layout.keys().resolve(name));
    }
    all.add(layout.keys());
    all.add(layout.root()); // last: until then this user can go on with what is below
    for (Name each : all) {
      own(files.path(each));
    }
  }

  private void own(Path path) throws IOException {
    @Nullable PosixFileAttributeView view =
        Files.getFileAttributeView(path, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS);
    if (view == null) {
      throw new IOException(path + ": a filesystem without owners");
    }
    if (!view.getOwner().equals(user)) {
      view.setOwner(user);
    }
    int mode = (Integer) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS) & 07777;
    Files.setAttribute(path, "unix:mode", mode & ~OTHERS_WRITE);
  }
}
