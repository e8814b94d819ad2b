#!/usr/bin/env python3
"""A job array that logs through the package, and is killed at random: each line is in the log exactly once.

    python/tests/array.py [JOBS] [LINES] [KILLS] [AT_ONCE]

Each job is run until it ends by itself. Before that its Python, its cinch append or what keeps its lease is killed KILLS
times. AT_ONCE jobs run together, each with two Java processes. CINCH says which cinch.
"""

import collections
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
CINCH = os.environ.setdefault("CINCH", str(TOP / "cli/bin/cinch"))
JOB = """
import logging, sys
sys.path.insert(0, sys.argv[1])
import cinch
task, lines = sys.argv[2], int(sys.argv[3])
with cinch.Log("array", lease="array/" + task, lasting="10s") as log:
    logger = logging.getLogger("job")
    logger.setLevel(logging.INFO)
    handler = cinch.Handler(log)
    logger.addHandler(handler)
    for line in range(lines):
        logger.info("%s %d", task, line)
        if line % 50 == 0:
            handler.flush()
    handler.close()
"""


def family(pid):
    """Its processes below it, at any depth."""
    found = []
    for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in children.read_text().split():
                found += [int(child), *family(child)]
        except OSError:
            pass
    return found


def main(jobs=50, lines=1000, kills=2, at_once=6):
    dice = random.Random()
    killed = collections.Counter()
    with tempfile.TemporaryDirectory() as temp:
        store, key = temp + "/store", temp + "/key"
        subprocess.run([CINCH, "init", "--bucket-width", "1s", "--key", key, store], check=True, stdout=subprocess.PIPE)
        server = subprocess.Popen(
            [CINCH, "serve", "--key", key, "--store", store, "--port", "0"], stdout=subprocess.PIPE
        )
        os.environ.update(CINCH_STORE=store, CINCH_SERVER=server.stdout.readline().split()[-1].decode())
        begun = time.monotonic()
        waiting = [(task, kills) for task in range(jobs)]
        running = []
        while waiting or running:
            while waiting and len(running) < at_once:
                task, left = waiting.pop(0)
                process = subprocess.Popen([sys.executable, "-c", JOB, str(TOP / "python"), str(task), str(lines)])
                running.append((process, task, left, time.monotonic() + dice.uniform(0.5, 6)))
            time.sleep(0.05)
            for each in list(running):
                process, task, left, when = each
                code = process.poll()
                if code is not None:
                    running.remove(each)
                    if code != 0:
                        killed[f"ended with {code}"] += 1
                        waiting.append((task, left))
                elif left and time.monotonic() > when:
                    # A part of them only: a cinch that is killed is started again by the Python that lives.
                    victims = family(process.pid)
                    victim = process.pid if not victims or dice.random() < 0.5 else dice.choice(victims)
                    try:
                        name = pathlib.Path(f"/proc/{victim}/comm").read_text().strip()
                        os.kill(victim, 9)
                        killed["killed " + name] += 1
                    except OSError:
                        pass
                    running.remove(each)
                    running.append((process, task, left - 1, time.monotonic() + dice.uniform(0.5, 6)))
        took = time.monotonic() - begun
        sys.path.insert(0, str(TOP / "python"))
        import cinch

        read = [message.json for message in cinch.Log("array").read(live=True)]
        server.terminate()
        server.wait()
        subprocess.run(["chmod", "-R", "u+w", temp], check=True)
    expected = [f"{task} {line}" for task in range(jobs) for line in range(lines)]
    found = collections.Counter(message["message"] for message in read)
    order = all(
        [m["message"] for m in read if m["message"].startswith(f"{task} ")] == expected[task * lines : (task + 1) * lines]
        for task in range(jobs)
    )
    print(f"{jobs} jobs of {lines} lines, {took:.0f} s; {dict(killed)}")
    print(f"{len(read)} messages, {len(found)} different, {'' if order else 'NOT '}in each job's order")
    if found != collections.Counter(expected):
        sys.exit("some are missing or doubled")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
