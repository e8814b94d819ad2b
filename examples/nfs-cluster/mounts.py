"""What is mounted below a directory, and a directory removed only if nothing is: the host's root may be."""
import os
import re
import shutil

from places import command


def below(directory):
    """Mount points in it, the last made first. (os.path.ismount knows no bind mounts.)"""
    directory = os.path.realpath(directory)
    with open("/proc/self/mountinfo", "rb") as f:
        points = [os.fsdecode(re.sub(rb"\\(\d{3})", lambda m: bytes([int(m[1], 8)]), line.split()[4])) for line in f]
    return [p for p in reversed(points) if p == directory or p.startswith(directory + "/")]


def bind(source, target):
    """Read-only: the machines only look."""
    os.makedirs(target, exist_ok=True)
    command("mount", "--bind", source, target)
    command("mount", "-o", "remount,bind,ro", target)


def unmount(directory):
    for point in below(directory):
        command("umount", point)


def remove(directory):
    left = below(directory)
    if left:
        raise OSError(f"{directory} is not removed: {left[0]} is still mounted")
    shutil.rmtree(directory, ignore_errors=True)
