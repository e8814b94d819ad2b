"""What a run comes to: all is closed, verified, audited and judged, and counted."""
import os
import time


def say(text):
    print(f"{time.strftime('%H:%M:%S', time.gmtime())} {text}", flush=True)


def finish(fleet, referee, weather, logs):
    """Settles everything, then asks everybody."""
    cats = {}
    time.sleep(fleet.settled_after + 0.5)
    fleet.must("close", "--trust-clock")
    fleet.must("view", "build", "--wait", "0s")
    fleet.must("close", "--trust-clock", turn=1)
    say("closed")
    out = fleet.must("verify")
    say("verify: " + out.decode().strip().splitlines()[-1])
    code, out, err = fleet.run("audit")
    say("audit: " + (out.decode().strip().splitlines() or ["nothing"])[-1])
    if code:
        fleet.violation(f"audit: exit code {code}: {err.strip()[:2000]}")
    for log in logs:
        cat = os.path.join(fleet.work, f"cat-{log}")
        with open(cat, "wb") as f:
            fleet.must("cat", "--log", log, stdout=f)
        referee.look(log, final=True, cat=cat)
        cats[log] = cat
    weather.judge(cats, [referee.holders(log) for log in logs])
    fleet.endings.never_good()
    if not referee.totals.get("committed"):
        fleet.violation("no writer was told that anything is committed")
    say(f"referee: {len(logs)} logs")


def table(fleet, referee, seconds):
    counts = dict(fleet.counts, **referee.totals)
    counts.pop("violations", None)
    print(f"in {seconds:.0f} s:")
    for name, count in counts.items():
        print(f"  {count:>9,} {name}")
    for line in fleet.endings.lines():
        print(f"  {line}")
    print(f"  {len(fleet.violations):>9,} VIOLATIONS" if fleet.violations else "  no violation", flush=True)
