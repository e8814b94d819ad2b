"""What the machines have over the host's root: packages that are unpacked into a cache, and not installed.

So the host gets no kernel that it might boot next, and no NFS server, and none of their services.
"""
import fcntl
import glob
import hashlib
import os
import shutil
import subprocess

from packages import apt, installed
from places import command

PACKAGES = "linux-image-cloud-amd64 busybox-static dropbear-bin nfs-kernel-server nfs-common rpcbind".split()
CACHE = "/var/cache/cinch-nfs"
MERGED = "bin", "lib", "lib64", "sbin"  # links to the same below usr; as directories they would hide the host's


def make():
    """The directory, unpacked now or earlier: one for each set of versions. What the host has installed is not among it."""
    missing = [p for p in PACKAGES if not installed(p)]
    os.makedirs(CACHE, mode=0o755, exist_ok=True)
    with open(os.path.join(CACHE, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = apt("--simulate", "install", *missing) if missing else ""
        versions = "\n".join(sorted(line for line in said.splitlines() if line.startswith("Inst ")))
        path = os.path.join(CACHE, hashlib.sha256(versions.encode()).hexdigest()[:16])
        if not os.path.isdir(path):
            unpack(missing, path)
    return path


def unpack(packages, path):
    new, debs = path + ".new", path + ".debs"
    for old in (new, debs):
        shutil.rmtree(old, ignore_errors=True)
    os.makedirs(os.path.join(debs, "partial"))
    for name in MERGED:
        os.makedirs(os.path.join(new, "usr", name))
        os.symlink(f"usr/{name}", os.path.join(new, name))
    if packages:
        print(f"unpacking {' '.join(packages)} into {path}", flush=True)
        apt("--download-only", "-o", f"Dir::Cache::archives={debs}/", "install", *packages)
    for deb in sorted(glob.glob(os.path.join(debs, "*.deb"))):
        files = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE)
        command("tar", "--keep-directory-symlink", "-xf", "-", "-C", new, stdin=files.stdout)
        if files.wait():
            raise OSError(f"{deb} can't be unpacked")
    for kernel in os.listdir(os.path.join(new, "lib", "modules")) if packages else ():
        command("depmod", "-b", new, kernel)
    shutil.rmtree(debs)
    os.rename(new, path)  # the last step: what has the name is whole


def kernels(layer):
    """Version and where it is below, oldest first: of the layer, and of the host."""
    found = {}
    for base in (layer, "/"):
        for path in glob.glob(os.path.join(base, "boot", "vmlinuz-*")):
            found[os.path.basename(path)[len("vmlinuz-") :]] = base
    return found


def kernel(layer, version=None):
    """The version and where it is below: the one that is asked for, or the newest of Debian's for virtual machines."""
    found = kernels(layer)
    cloud = [v for v in found if v.endswith("-cloud-amd64")]
    if version is None and cloud:
        version = max(cloud, key=lambda v: [int(part) for part in v.replace("-", ".").split(".") if part.isdigit()])
    if version not in found:
        raise OSError(f"no kernel {version or 'of linux-image-cloud-amd64'}; there are: {', '.join(sorted(found)) or 'none'}")
    return version, found[version]
