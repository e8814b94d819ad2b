"""What the host needs: found, or installed from Debian where that is asked for. None of it is a service."""
import os
import shutil
import signal
import subprocess

from places import Skip, need_root

PACKAGES = (
    "qemu-system-x86 qemu-system-common cpio e2fsprogs iproute2 nftables kmod util-linux openssh-client procps"
    " python3-minimal openjdk-17-jre-headless"
).split()
SIGNALS = signal.SIGTERM, signal.SIGINT, signal.SIGHUP


def installed(package):
    done = subprocess.run(["dpkg-query", "-Wf", "${db:Status-Status}", package], capture_output=True, text=True)
    return done.stdout == "installed"


def apt(*arguments):
    """What apt-get prints; lists of packages that are missing or old are fetched once. Skips where it fails."""
    get = ["apt-get", "-qq", "-y", "--no-install-recommends", *arguments]
    for attempt in (get, ["apt-get", "-qq", "update"], get):
        done = undisturbed(attempt)
        if done.returncode == 0 and attempt is get:
            return done.stdout
    raise Skip(f"{' '.join(get)}: {(done.stderr.strip().splitlines() or ['?'])[-1]}")


def undisturbed(arguments):
    """Runs it to its end: signals to this process wait, and dpkg is not killed in the middle of a package."""

    def apart():
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        return subprocess.run(
            arguments, env=dict(os.environ, DEBIAN_FRONTEND="noninteractive", LC_ALL="C.UTF-8"),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, preexec_fn=apart,
        )  # fmt: skip
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def need_all(install):
    """Skips where virtual machines can't run; otherwise all that is needed is there afterwards."""
    need_root("a cluster of virtual machines")
    if not shutil.which("dpkg-query") or not shutil.which("apt-get"):
        raise Skip("not Debian: no apt-get")
    if os.uname().machine != "x86_64":
        raise Skip(f"made for x86_64, and this is {os.uname().machine}")
    if not os.path.exists("/dev/net/tun"):
        raise Skip("no /dev/net/tun")
    missing = [p for p in PACKAGES if not installed(p)]
    if missing and not install:
        raise Skip(f"not installed: {' '.join(missing)}; --install installs them")
    if missing:
        print(f"installing {' '.join(missing)}", flush=True)
        apt("install", *missing)
    apart = subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True, text=True)
    if apart.returncode:
        raise Skip(f"no network and mounts of its own: {apart.stderr.strip()}")


def need_memory(machines, mebibytes):
    """Machines that do not fit would be killed, or swap, in the middle of a fault."""
    with open("/proc/meminfo", encoding="ascii") as f:
        there = next(int(line.split()[1]) for line in f if line.startswith("MemAvailable:")) // 1024
    needed = machines * mebibytes + 512
    if there < needed:
        raise Skip(f"{there} MiB of memory are available, and {machines} machines of {mebibytes} MiB need {needed} MiB (--memory)")
