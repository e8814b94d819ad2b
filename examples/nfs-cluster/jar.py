"""Cinch's jar: built where it is missing or older than its sources, so that what is tested is what is there."""
import glob
import os
import shutil
import subprocess

import fleet as fleets
from places import Skip

PATH = os.path.join(fleets.ROOT, "cli", "target", "cinch.jar")
BUILD = ["mvn", "-B", "-q", "-DskipTests", "-pl", "cli", "-am", "package"]


def need():
    why = stale()
    if not why:
        return
    if not shutil.which("mvn"):
        if not os.path.exists(PATH):
            raise Skip("Cinch is not built, and there is no mvn to build it with")
        raise OSError(f"{PATH} is not what would be tested: {why}, and there is no mvn to build it with")
    print(f"building Cinch: {why}", flush=True)
    if subprocess.run(BUILD, cwd=fleets.ROOT).returncode:
        raise OSError("Cinch can't be built")


def stale():
    """Why it has to be built; None if not."""
    if not os.path.exists(PATH):
        return "no jar"
    built = os.path.getmtime(PATH)
    newer = [path for path in sources() if os.path.getmtime(path) > built]
    return f"{os.path.relpath(newer[0], fleets.ROOT)} is newer than the jar" if newer else None


def sources():
    for module in ("lease-service", "bagstore", "aggregator", "cli"):
        yield os.path.join(fleets.ROOT, module, "pom.xml")
        for path in glob.iglob(os.path.join(fleets.ROOT, module, "src", "main", "**"), recursive=True):
            if os.path.isfile(path):
                yield path
    yield os.path.join(fleets.ROOT, "pom.xml")
