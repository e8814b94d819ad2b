"""Filesystems to run on: made, mounted, and taken down again."""
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time


class Skip(Exception):
    """Something that this machine does not have is needed."""


def need_root(what):
    if os.geteuid() != 0:
        raise Skip(f"{what} needs root")


def need(*tools):
    missing = [t for t in tools if not shutil.which(t)]
    if missing:
        raise Skip(f"{', '.join(missing)} not installed")


def command(*arguments, **options):
    done = subprocess.run(arguments, capture_output=True, text=True, **options)
    if done.returncode:
        raise OSError(f"{' '.join(arguments)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


class Place:
    """A directory, or two mounts of one: where stores may be made. What it needed is undone by close."""

    def __init__(self, work, directories, small=False):
        self.work = work
        self.directories = directories
        self.small = small  # fills up, and is to
        self.fickle = small  # whoever can't go on there, or not start, is no surprise
        self.undo = []
        self.remains = None  # what holds the store when nothing is mounted any more, and how it is removed
        self.erase = lambda: None

    def close(self, keep=False):
        """Undoes all; what remains is removed too, unless it is to be kept."""
        if not keep:
            self.undo.insert(0, self.erase)
        while self.undo:
            step = self.undo.pop()
            for attempt in range(20):
                try:
                    step()
                    break
                except (OSError, subprocess.SubprocessError) as e:
                    if attempt == 19:
                        print(f"not undone: {e}", flush=True)
                    time.sleep(0.25)


def given(work, directory):
    base = tempfile.mkdtemp(prefix="cinch-stress.", dir=directory)
    place = Place(work, [base])
    place.remains, place.erase = base, lambda: remove(base)
    return place


def remove(directory):
    """Also directories that were made read-only, as their owner sees them."""
    for path, _, _ in os.walk(directory, topdown=True):
        if os.stat(path).st_uid == os.geteuid():
            os.chmod(path, 0o700)
    shutil.rmtree(directory, ignore_errors=True)


def mounted(place, device, kind, target, *options):
    os.mkdir(target)
    place.undo.append(lambda: unmount(target))
    command("mount", "-t", kind, *options, device, target)


def tmpfs(work, size="256m", small=False):
    need_root("mounting a tmpfs")
    target = os.path.join(work, "tmpfs")
    place = Place(work, [target], small)
    try:
        mounted(place, "cinch-stress", "tmpfs", target, "-o", f"size={size}")
    except BaseException:
        place.close()
        raise
    return place


def ext4(work, size=512 << 20, small=False):
    need_root("mounting an ext4 image")
    need("mkfs.ext4", "losetup")
    image, target = os.path.join(work, "ext4.image"), os.path.join(work, "ext4")
    place = Place(work, [target], small)
    with open(image, "wb") as f:
        f.truncate(size)
    place.remains, place.erase = image, lambda: os.remove(image)
    try:
        command("mkfs.ext4", "-q", "-m", "0", image)
        mounted(place, image, "ext4", target, "-o", "loop")
    except BaseException as e:
        place.close()
        if isinstance(e, OSError):
            raise Skip(f"no ext4 image can be mounted here: {e}") from e
        raise
    return place


def full(work):
    return ext4(work, 160 << 20, small=True)


def full_tmpfs(work):
    return tmpfs(work, "96m", small=True)


def wait_until(what, condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise OSError(f"{what}: not within {seconds} s")
        time.sleep(0.1)


# GlusterFS wants no loopback address. This one is for documentation: nobody else can have it.
GLUSTER_ADDRESS = "192.0.2.77"


def listens(address, port):
    with socket.socket() as s:
        return s.connect_ex((address, port)) == 0


def gluster(work):
    """A volume of one brick with the settings that volumes have by default, mounted twice by two clients."""
    need_root("a GlusterFS volume")
    need("glusterd", "gluster", "glusterfs", "ip")
    if not os.path.exists("/dev/fuse"):
        raise Skip("no /dev/fuse")
    if listens("127.0.0.1", 24007):
        raise Skip("a glusterd listens on port 24007 already, and is left alone")
    home, brick = os.path.join(work, "glusterd"), os.path.join(work, "brick")
    os.makedirs(os.path.join(home, "run"))
    os.makedirs(brick)
    volfile = os.path.join(work, "glusterd.vol")
    with open(volfile, "w", encoding="ascii") as f:
        f.write(
            f"volume management\n type mgmt/glusterd\n option working-directory {home}\n"
            f" option run-directory {home}/run\n option transport-type socket\n"
            f" option transport.socket.bind-address {GLUSTER_ADDRESS}\nend-volume\n"
        )
    targets = [os.path.join(work, "mount1"), os.path.join(work, "mount2")]
    place = Place(work, targets)
    place.remains = brick
    try:
        start_gluster(place, home, volfile, brick, targets)
    except BaseException as e:  # also a signal: nothing of it may be left
        place.close()
        if isinstance(e, OSError):
            raise Skip(f"no GlusterFS volume can be had here: {e}") from e
        raise
    return place


def start_gluster(place, home, volfile, brick, targets):
    # One that a run left which was killed is ours as well.
    command("ip", "address", "replace", f"{GLUSTER_ADDRESS}/32", "dev", "lo")
    place.undo.append(lambda: command("ip", "address", "delete", f"{GLUSTER_ADDRESS}/32", "dev", "lo"))

    def end_bricks():
        """They outlive a glusterd that was killed together with this process."""
        for pid_file in glob.glob(os.path.join(home, "run", "vols", "*", "*.pid")):
            with open(pid_file, encoding="ascii") as f:
                pid = f.read().strip()
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    ours = home.encode() in f.read()
                if pid and ours:
                    os.kill(int(pid), signal.SIGTERM)
            except (FileNotFoundError, ProcessLookupError):
                pass  # it has ended, as it should

    place.undo.append(end_bricks)
    log, pid = os.path.join(place.work, "glusterd.log"), os.path.join(place.work, "glusterd.pid")
    daemon = subprocess.Popen(
        ["glusterd", "-N", "-f", volfile, "-l", log, "-p", pid], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )

    def end_daemon():
        daemon.terminate()
        daemon.wait(60)

    place.undo.append(end_daemon)
    wait_until("glusterd", lambda: listens(GLUSTER_ADDRESS, 24007))
    gluster_command("volume", "create", "cinch", f"{GLUSTER_ADDRESS}:{brick}", "force")
    place.undo.append(lambda: stop_volume())
    gluster_command("volume", "start", "cinch")
    for target in targets:
        os.mkdir(target)
        place.undo.append(lambda t=target: unmount(t))
        command("glusterfs", "-s", GLUSTER_ADDRESS, "--volfile-id", "cinch", "--acl", "-l", target + ".log", target)
        wait_until(target, lambda t=target: mount_type(t) == "fuse.glusterfs")


def stop_volume():
    if "Status: Started" in command("gluster", "--mode=script", "volume", "info", "cinch"):
        gluster_command("volume", "stop", "cinch", "force")


def unmount(target):
    """Also where a signal came before it was known whether it is mounted."""
    if mount_type(target):
        command("umount", target)


def gluster_command(*arguments):
    command("gluster", "--mode=script", *arguments)


def mount_type(directory):
    with open("/proc/self/mounts", encoding="utf-8") as f:
        types = [line.split()[2] for line in f if line.split()[1] == directory]
    return types[-1] if types else None


APART = "CINCH_STRESS_APART"  # set once this process has mounts of its own


def apart(name):
    """Goes on with mounts of its own, if it is to mount something and can: whoever kills it leaves none behind."""
    mine = ["unshare", "--mount", "--propagation", "private"]
    if name not in MAKERS or APART in os.environ or os.geteuid() != 0 or not shutil.which("unshare"):
        return
    if subprocess.run([*mine, "true"], capture_output=True, check=False).returncode == 0:
        os.environ[APART] = "1"
        os.execvp("unshare", [*mine, sys.executable, *sys.argv])


MAKERS = {"tmpfs": tmpfs, "ext4": ext4, "full": full, "full-tmpfs": full_tmpfs, "gluster": gluster}


def make(name, work):
    if name in MAKERS:
        return MAKERS[name](work)
    if not os.path.isdir(name):
        raise Skip(f"{name} is no directory, and none of {', '.join(MAKERS)}")
    return given(work, name)
