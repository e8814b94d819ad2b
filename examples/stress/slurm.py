#!/usr/bin/env python3
"""examples/slurm-array.sbatch under a stand-in for sbatch, which preempts and kills its tasks at random and requeues them.

    examples/stress/slurm.py [TASKS] [LINES] [TIMES] [KILL_WAIT]

Does what Slurm does: runs a copy of the script in the directory that it was submitted from, signals the batch shell
(--signal=B:TERM), or all processes (SIGCONT, SIGTERM, and SIGKILL after KILL_WAIT seconds), or loses the node (SIGKILL);
a requeued task has the same numbers and a higher SLURM_RESTART_COUNT. In the end the log has of each task the output
of one run, whole and in order. CINCH says which cinch, that of the checkout unless set.
"""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

TOP = pathlib.Path(__file__).resolve().parents[2]
CINCH = os.environ.pop("CINCH", str(TOP / "cli/bin/cinch"))
# Each run prints something else.
PROGRAM = 'for ((i = 0; i < $1; i++)); do echo "$SLURM_ARRAY_TASK_ID ${SLURM_RESTART_COUNT:-0}.$$ $i"; done'


class Slurm:
    def __init__(self, temp, environment, lines, times, kill_wait):
        self.temp, self.environment, self.lines, self.times, self.kill_wait = temp, environment, lines, times, kill_wait
        self.tools = temp / "tools"  # a PATH that has scontrol, and no cinch
        self.tools.mkdir()
        (self.tools / "scontrol").write_text(f'#!/bin/sh\necho "$@" >>{temp}/requeued\n')
        (self.tools / "scontrol").chmod(0o755)
        self.path = f"{self.tools}:{os.environ['PATH']}"
        self.unpacked = temp / "unpacked"  # stands for an archive
        (self.unpacked / "bin").mkdir(parents=True)
        (self.unpacked / "bin/cinch").symlink_to(CINCH)
        self.ended = []

    def found(self, task):
        """Where the script is submitted, and the ways in which it finds cinch in turn."""
        return [
            (TOP, {}),
            (TOP / "examples", {}),
            (self.unpacked, {}),
            (self.temp, {"PATH": f"{self.unpacked}/bin:{self.path}"}),
            (self.temp, {"CINCH": CINCH}),
        ][task % 5]

    def task(self, task):
        dice = random.Random()
        submitted, more = self.found(task)
        for restart in range(self.times + 1):
            spool = self.temp / f"spool/job{1000 + task}.{restart}"
            spool.mkdir(parents=True)
            script = shutil.copy(TOP / "examples/slurm-array.sbatch", spool / "slurm_script")
            environment = {**self.environment, "PATH": self.path, **more}
            environment.update(
                SLURM_JOB_ID=str(1000 + task),
                SLURM_ARRAY_JOB_ID="1000",
                SLURM_ARRAY_TASK_ID=str(task),
                SLURM_SUBMIT_DIR=str(submitted),
            )
            if restart:
                environment["SLURM_RESTART_COUNT"] = str(restart)
            job = subprocess.Popen(
                ["bash", script, "bash", "-c", PROGRAM, "program", str(self.lines)],
                cwd=submitted,
                env=environment,
                start_new_session=True,
            )
            how = "nothing"
            if restart < self.times:
                try:
                    job.wait(dice.uniform(0.2, 8))
                except subprocess.TimeoutExpired:
                    how = dice.choice(["shell", "all", "node"])
                    self.end(job, how)
            code = job.wait()
            self.ended.append((task, restart, how, code))
            if code == 0:
                return

    def end(self, job, how):
        try:
            if how == "shell":
                os.kill(job.pid, signal.SIGTERM)
            elif how == "all":
                os.killpg(job.pid, signal.SIGCONT)
                os.killpg(job.pid, signal.SIGTERM)
            if how != "node":
                job.wait(self.kill_wait)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(job.pid, signal.SIGKILL)  # whatever it left behind, too
        except ProcessLookupError:
            pass


def main(tasks=10, lines=200000, times=4, kill_wait=30):
    temp = pathlib.Path(tempfile.mkdtemp(prefix="cinch-slurm."))
    store, key = str(temp / "store"), str(temp / "key")
    server = None
    try:
        subprocess.run([CINCH, "init", "--key", key, store], check=True, stdout=subprocess.PIPE)
        server = subprocess.Popen(
            [CINCH, "serve", "--key", key, "--store", store, "--port", "0"], stdout=subprocess.PIPE
        )
        address = server.stdout.readline().split()[-1].decode()
        slurm = Slurm(temp, dict(os.environ, CINCH_STORE=store, CINCH_SERVER=address), lines, times, kill_wait)
        at_once = threading.Semaphore(4)

        def run(task):
            with at_once:
                slurm.task(task)

        threads = [threading.Thread(target=run, args=(task,)) for task in range(tasks)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        judge(slurm, store, tasks, lines)
    finally:
        if server is not None:
            server.terminate()
            server.wait()
        subprocess.run(["chmod", "-R", "u+w", temp])
        shutil.rmtree(temp)


def judge(slurm, store, tasks, lines):
    counts = {}
    for task, restart, how, code in slurm.ended:
        counts[f"{how}: {code}"] = counts.get(f"{how}: {code}", 0) + 1
    print(f"{tasks} tasks of {lines} lines; runs by what ended them, and their exit codes: {json.dumps(counts)}")
    unfinished = set(range(tasks)) - {task for task, _, _, code in slurm.ended if code == 0}
    if unfinished:
        sys.exit(f"tasks {sorted(unfinished)} did not end with 0")
    read = subprocess.run(
        [CINCH, "cat", "--store", store, "--log", "results", "--live"], check=True, stdout=subprocess.PIPE
    )
    by_task = {}
    for line in read.stdout.decode().splitlines():
        task, run, number = line.split()
        by_task.setdefault(int(task), []).append((run, int(number)))
    for task in range(tasks):
        got = by_task.get(task, [])
        if [number for _, number in got] != list(range(lines)) or len({run for run, _ in got}) != 1:
            sys.exit(f"task {task}: {len(got)} lines of runs {sorted({run for run, _ in got})}")
    cut = sum(1 for task in range(tasks) if not by_task[task][0][0].startswith("0."))
    print(f"each task's output is in the log once, whole and in order; {cut} of them are of a run that was requeued")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
