"""How long one client does not see what another one did, by how it looks."""
import json
import shlex
import statistics
import subprocess
import time

import fleet as fleets

MOUNT = "/mnt/nfs"
COPIES = 3
AGES = 0, 100  # seconds: caches trust longer what did not change for a while
LONGEST = 150  # seconds: what is not seen by then may never be

# Both programs: the places, one directory each, so that no look makes another one's cache fresh.
PLACES = """
import errno, json, os, stat, sys, time
base, copies = sys.argv[1], int(sys.argv[2])
CHANGES = "create", "link", "chmod", "append", "remove"
LOOKS = "stat", "read", "write", "list", "retry"
PLACES = [(c, l, str(n)) for c in CHANGES for l in LOOKS for n in range(copies)]
def file(place, name="x"):
    return "/".join((base, "-".join(place), name))
"""

# Looks again and again until each change is seen, and prints when that was.
LOOK = PLACES + """
for place in PLACES:
    os.mkdir(file(place, "")[:-1])
    names = {"create": (), "link": ("new",)}.get(place[0], ("x",))
    for name in names:
        os.close(os.open(file(place, name), os.O_CREAT | os.O_WRONLY, 0o664))
def attributes(place):
    path = file(place)
    if place[1] == "stat":
        return os.stat(path)
    if place[1] == "list":
        return os.stat(path) if "x" in os.listdir(file(place, "")) else None
    if place[1] == "retry":
        try:
            return os.stat(path)
        except FileNotFoundError:
            os.listdir(file(place, ""))
            return os.stat(path)
    handle = os.open(path, os.O_RDONLY if place[1] == "read" else os.O_WRONLY)
    try:
        return os.fstat(handle)
    finally:
        os.close(handle)
def sees(place):
    change = place[0]
    try:
        seen = attributes(place)
    except PermissionError:
        return change == "chmod"
    except OSError as e:
        if e.errno not in (errno.ENOENT, errno.ESTALE):
            raise
        seen = None
    if change in ("create", "link"):
        return seen is not None
    if change == "remove":
        return seen is None
    return stat.S_IMODE(seen.st_mode) == 0o444 if change == "chmod" else seen.st_size > 0
left, at, ready = set(PLACES), {}, time.time() + float(sys.argv[3])
end = ready + float(sys.argv[4])
while left and time.time() < end:
    began = time.time()
    for place in list(left):
        if sees(place):
            at[" ".join(place)] = time.time()
            left.remove(place)
    if ready and began >= ready:
        print("ready", flush=True)
        ready = None
    time.sleep(max(0, began + 0.25 - time.time()))
print(json.dumps(at), flush=True)
"""

# Makes all changes, and prints when.
CHANGE = PLACES + """
at = {}
for place in PLACES:
    path, change = file(place), place[0]
    if change == "create":
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o664))
    elif change == "link":
        os.link(file(place, "new"), path)
    elif change == "chmod":
        os.chmod(path, 0o444)
    elif change == "append":
        handle = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.write(handle, b"x" * 8)
        os.close(handle)
    else:
        os.remove(path)
    at[" ".join(place)] = time.time()
print(json.dumps(at), flush=True)
"""


class Caches:
    def __init__(self, measure, say):
        self.measure, self.say = measure, say
        self.first, self.second = measure.first, measure.second

    def all(self):
        for age in AGES:
            self.round(age)

    def round(self, age):
        base = f"{MOUNT}/caches-{age}"
        self.measure.lab.server.run("install", "-d", "-m", "1777", f"/mnt/disk/export/caches-{age}")
        for machine in (self.first, self.second):
            machine.right_clock()
        looks = self.python(self.first, LOOK, base, str(COPIES), str(age), str(LONGEST))
        if looks.stdout.readline() != "ready\n":
            raise OSError("caches: the looks ended")
        changed = json.loads(self.python(self.second, CHANGE, base, str(COPIES)).communicate()[0])
        seen = json.loads(looks.communicate()[0])
        delays = {}
        for place, at in changed.items():
            change, look, _ = place.split()
            delays.setdefault((change, look), []).append(seen[place] - at if place in seen else None)
        for (change, look), each in sorted(delays.items()):
            self.say(f"after {age} s without change, {change}: seen by {look} after {words(each)}")

    def python(self, machine, program, *arguments):
        words = [*self.measure.as_user(), "/usr/bin/python3", "-u", "-c", program, *arguments]
        return subprocess.Popen(
            machine.shell(f"umask 002; exec {shlex.join(words)}"), stdout=subprocess.PIPE, text=True,
            preexec_fn=fleets.die_with_parent,
        )  # fmt: skip


def words(delays):
    if None in delays:
        return f"more than {LONGEST} s, {sum(d is None for d in delays)} of {len(delays)} times"
    return f"{statistics.median(delays):.1f} s, at most {max(delays):.1f} s"
