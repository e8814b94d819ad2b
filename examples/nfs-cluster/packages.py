"""What the host needs: found, or installed from Debian."""
import glob
import os
import shutil
import subprocess

from places import Skip, need_root

PACKAGES = (
    "qemu-system-x86 qemu-system-common linux-image-cloud-amd64 busybox-static cpio e2fsprogs iproute2 nftables kmod util-linux"
    " openssh-client dropbear-bin nfs-kernel-server nfs-common rpcbind procps python3-minimal openjdk-17-jre-headless"
).split()
POLICY = "/usr/sbin/policy-rc.d"


def installed(package):
    done = subprocess.run(["dpkg-query", "-Wf", "${db:Status-Status}", package], capture_output=True, text=True)
    return done.stdout == "installed"


def install(missing):
    """Installs without starting any service on the host."""
    made = not os.path.lexists(POLICY)
    if made:
        with open(POLICY, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\nexit 101\n")
        os.chmod(POLICY, 0o755)
    try:
        environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
        get = ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *missing]
        for attempt in (get, ["apt-get", "update", "-qq"], get):
            done = subprocess.run(attempt, env=environment, capture_output=True, text=True)
            if done.returncode == 0 and attempt is get:
                return
        raise Skip(f"{', '.join(missing)} can't be installed: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    finally:
        if made:
            os.remove(POLICY)


def need_all():
    """Skips where virtual machines can't run; otherwise all that is needed is there afterwards."""
    need_root("a cluster of virtual machines")
    if not shutil.which("dpkg-query") or not shutil.which("apt-get"):
        raise Skip("not Debian: no apt-get")
    if os.uname().machine != "x86_64":
        raise Skip(f"made for x86_64, and this is {os.uname().machine}")
    if not os.path.exists("/dev/net/tun"):
        raise Skip("no /dev/net/tun")
    missing = [p for p in PACKAGES if not installed(p)]
    if missing:
        print(f"installing {' '.join(missing)}", flush=True)
        install(missing)
    apart = subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True, text=True)
    if apart.returncode:
        raise Skip(f"no network and mounts of its own: {apart.stderr.strip()}")
    if not kernels():
        raise Skip("no kernel of linux-image-cloud-amd64 in /boot")


def kernels():
    """Versions of the kernels that can run in a machine, oldest first."""
    names = [os.path.basename(k)[len("vmlinuz-") :] for k in glob.glob("/boot/vmlinuz-*-cloud-amd64")]
    return sorted(names, key=lambda name: [int(part) for part in name.replace("-", ".").split(".") if part.isdigit()])
