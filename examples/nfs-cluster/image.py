"""What machines boot from: an initramfs with busybox, a few kernel modules, a key and ./init; and the server's disk."""
import os
import shutil
import subprocess

from places import command

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = ("virtio_pci", "virtio_blk", "virtio_net", "virtiofs", "overlay")
DISK_BYTES = 4 << 30


def keys(work):
    command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "cinch", "-f", os.path.join(work, "key"))


def initramfs(work, kernel, base, layer):
    tree = os.path.join(work, "initramfs")
    lab = os.path.join(tree, "lab")
    for directory in ("bin", "lab", "dev", "proc", "sys"):
        os.makedirs(os.path.join(tree, directory))
    busybox = os.path.join(layer, "bin", "busybox")
    shutil.copy(busybox if os.path.exists(busybox) else "/bin/busybox", os.path.join(tree, "bin", "busybox"))
    os.symlink("busybox", os.path.join(tree, "bin", "sh"))
    for target in (tree, lab):
        shutil.copy(os.path.join(HERE, "init"), os.path.join(target, "init"))
    shutil.copy(os.path.join(work, "key.pub"), lab)
    with open(os.path.join(lab, "modules"), "w", encoding="ascii") as f:
        for path in modules(kernel, base):
            shutil.copy(path, lab)
            f.write(os.path.basename(path) + "\n")
    packed = os.path.join(work, "initramfs.cpio")
    with open(packed, "wb") as f:
        names = subprocess.run(["find", "."], cwd=tree, check=True, capture_output=True).stdout
        subprocess.run(["cpio", "--quiet", "-o", "-H", "newc"], cwd=tree, input=names, stdout=f, check=True)
    shutil.rmtree(tree)
    return packed


def modules(kernel, base):
    """Paths of the modules, each after those that it needs."""
    paths = []
    for module in MODULES:
        for line in command("modprobe", "-d", base, "-S", kernel, "--show-depends", module).splitlines():
            words = line.split()
            if words[0] == "insmod" and words[1] not in paths:
                paths.append(words[1])
    return paths


def disk(work):
    path = os.path.join(work, "disk")
    with open(path, "wb") as f:
        f.truncate(DISK_BYTES)
    command("mkfs.ext4", "-q", "-E", "nodiscard", path)
    return path
