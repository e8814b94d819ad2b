#!/usr/bin/env python3
"""Leases and fences: sections 6 and 7 of the protocol, rules L1, L2, L3, L8, L9 and F1.

Holders take one name in turn, each from any instance of the lease service; they fence, write, renew, give back, or stop
anywhere. Instances start, take numbers, publish ceilings and sign; one may start while another goes on. There is no clock:
a lease may expire, and the horizon may pass a time, at any moment. Appending is one step here (bag.py has it in full): a
message comes into existence when it lands, if its time is not settled by then.

Checked (F1): no message lands after the first read under a later lease, and timestamps follow the order of leases,
which is that of instances' numbers and of grants within one. Left out, since all they do is refuse: quarantine, the look for
a later instance after a pause, stopping for good, refusing lower instances and clocks that are off. F1 rests on none of them.
"""
from collections import namedtuple

from explorer import main

MUTATIONS = {
    "drops-carried-fence": ("a fence that nobody reported is dropped when its carrier releases", None),
    "reports-no-fence-made": ("a holder reports a fence that it did not make", None),
    "forgets-broken-expiry": ("the expiry of a lease that was not released needs no fence", None),
    "drops-inherited-watermark": ("who wrote nothing does not pass on the bound inherited", None),
    "no-fence": ("a holder does not fence", None),
    "fences-one-log": ("a holder fences one log of several", None),
    "bound-from-watermark": ("the lower bound is the watermark alone", None),
    "no-upper-bound": ("a holder writes beyond its expiry", None),
    "forgets-its-watermark": ("a holder releases without stating what it wrote", None),
    "releases-early": ("a holder releases before its verdicts are in", None),
    "ceiling-ignored": ("a new instance does not look at earlier ceilings", None),
    "ceiling-without-look": ("an instance publishes ceilings without looking for a later one", None),
    "no-ceiling": ("an instance signs expiries above its ceiling", None),
    "ceilings-before-number": ("a new instance lists ceilings before it takes its number", None),
    "believes-exists": ("an instance takes a number that another has", None),
}

# Expiries and ceilings are taken from `ends`, timestamps from `times`; a horizon of h has settled the times below h.
BOUNDS = {
    "small": dict(logs=("x", "xy", "xy"), instances=2, messages=1, ends=(2,), times=(1, 3)),
    "default": dict(logs=("x", "xy", "xy"), instances=2, messages=1, ends=(2, 4), times=(1, 3)),
    "large": dict(logs=("xy", "xy", "xy"), instances=3, messages=2, ends=(2, 4), times=(1, 3)),
}
LOGS = "xy"

State = namedtuple("State", "horizon instances holders wrong")
# pc: off, listed (a number is chosen), numbered, looking (at `asked`), on, stopped; earlier, permitted, published: ceilings
Instance = namedtuple("Instance", "pc number earlier permitted published lease")
OFF = Instance("off", 0, 0, 0, 0, None)
# The last lease as the service remembers it. fence: (time, logs); 0 is no time
Lease = namedtuple("Lease", "holder released expiry fence watermark stated fenced")
# pc: idle, granted (and fencing), began, gone. number: of the instance; todo: logs to fence; written: highest timestamp
Holder = namedtuple("Holder", "pc number by lower fence todo fenced expiry written pending landed began")
IDLE = Holder("idle", 0, 0, 0, (0, ""), "", False, 0, 0, None, (), False)
NO_FENCE = (0, "")


def union(a, b):
    return "".join(log for log in LOGS if log in a or log in b)


class CarriedFence:
    def __init__(self, broken, bounds):
        self.broken = broken
        self.logs, self.ends, self.times = bounds["logs"], bounds["ends"], bounds["times"]
        self.instances, self.messages = bounds["instances"], bounds["messages"]

    def initial(self):
        return State((0,) * len(LOGS), (OFF,) * self.instances, (IDLE,) * len(self.logs), None)

    def wrong(self, state):
        return state.wrong

    def steps(self, state):
        for i, instance in enumerate(state.instances):
            if i == 0 or state.instances[i - 1].pc != "off":
                for label, after in self.instance_steps(state, instance):
                    yield "instance %d %s" % (i, label), self.with_instance(state, i, after)
        for h, holder in enumerate(state.holders):
            if holder.pc == "idle":
                if h == 0 or state.holders[h - 1].pc != "idle":
                    yield from self.acquire(state, h)
            elif holder.pc != "gone" or holder.pending:
                yield from self.holder_steps(state, h, holder)

    @staticmethod
    def with_instance(state, i, instance):
        return state._replace(instances=state.instances[:i] + (instance,) + state.instances[i + 1:])

    @staticmethod
    def with_holder(state, h, holder):
        if holder.pc == "gone" and not holder.pending:  # forget what nobody asks for any more
            holder = IDLE._replace(pc="gone", number=holder.number, landed=holder.landed, began=holder.began)
        return state._replace(holders=state.holders[:h] + (holder,) + state.holders[h + 1:])

    def instance_steps(self, state, it):
        """Rule L3: number, then the ceilings; publish, then look; sign."""
        taken = [other.number for other in state.instances if other.pc not in ("off", "listed")]
        if it.pc == "off":
            it = it._replace(pc="listed", number=max(taken, default=0) + 1)
            if "ceilings-before-number" in self.broken:
                it = it._replace(earlier=max(other.published for other in state.instances))
            yield "lists the numbers, chooses %d" % it.number, it
        elif it.pc == "listed":
            if it.number in taken and "believes-exists" not in self.broken:
                yield "finds its number taken", it._replace(number=it.number + 1)
            else:
                pc = "on" if "ceilings-before-number" in self.broken else "numbered"
                yield "takes number %d" % it.number, it._replace(pc=pc)
        elif it.pc == "numbered":
            found = max((o.published for o in state.instances if o.pc not in ("off", "listed") and o.number < it.number), default=0)
            earlier = 0 if "ceiling-ignored" in self.broken else found
            yield "lists the ceilings: %d" % earlier, it._replace(pc="on", earlier=earlier)
        elif it.pc == "on":
            for ceiling in self.ends:
                if ceiling > it.published:
                    if "ceiling-without-look" in self.broken:
                        yield "publishes %d" % ceiling, it._replace(published=ceiling, permitted=ceiling)
                    else:
                        yield "publishes %d" % ceiling, it._replace(pc="looking", published=ceiling)
        elif it.pc == "looking":
            if max(taken) > it.number:
                yield "sees a later instance", it._replace(pc="stopped")
            else:
                yield "sees no later instance", it._replace(pc="on", permitted=it.published)

    def signable(self, instance):
        if "no-ceiling" in self.broken and instance.permitted:
            return (*self.ends, self.ends[-1] + 2)
        return [end for end in self.ends if end <= instance.permitted]

    def inheritance(self, instance):
        """What the next lease takes over: (watermark, fence)."""
        last = instance.lease
        if last is None:
            return 0, (instance.earlier, LOGS) if instance.earlier else NO_FENCE
        watermark = last.stated if "drops-inherited-watermark" in self.broken else max(last.watermark, last.stated)
        if not last.released:
            if "forgets-broken-expiry" in self.broken:
                return watermark, last.fence
            return watermark, (max(last.fence[0], last.expiry), union(last.fence[1], self.logs[last.holder]))
        if last.fenced or "drops-carried-fence" in self.broken:
            return max(watermark, last.fence[0]), NO_FENCE
        return watermark, last.fence

    def acquire(self, state, h):
        for i, instance in enumerate(state.instances):
            for expiry in self.signable(instance):
                watermark, fence = self.inheritance(instance)
                lease = Lease(h, False, expiry, fence, watermark, 0, False)
                lower = watermark if "bound-from-watermark" in self.broken else max(watermark, fence[0])
                todo = fence[1][:1] if "fences-one-log" in self.broken else fence[1]
                done = not todo or "no-fence" in self.broken
                holder = Holder("began" if done else "granted", instance.number, i, lower, fence, "" if done else todo,
                                done and bool(todo), expiry, 0, None, (), done)
                after = self.with_instance(state, i, instance._replace(lease=lease))
                yield ("holder %d takes the name from instance %d until %d, above %d, fence %d%s"
                       % (h, i, expiry, lower, *fence)), self.with_holder(after, h, holder)

    def holder_steps(self, state, h, me):
        if me.pc == "granted":
            log = LOGS.index(me.todo[0])
            horizon = tuple(max(at, me.fence[0]) if i == log else at for i, at in enumerate(state.horizon))
            began = len(me.todo) == 1
            after = me._replace(todo=me.todo[1:], pc="began" if began else "granted", fenced=began, began=began)
            yield "holder %d fences %s" % (h, me.todo[0]), self.with_holder(state._replace(horizon=horizon), h, after)
        if me.pending:
            yield self.land(state, h, me)
        elif me.pc == "began" and len(me.landed) < self.messages:
            for at in self.times:
                if max(me.lower, me.written) < at and (at < me.expiry or "no-upper-bound" in self.broken):
                    for log in self.logs[h]:
                        yield "holder %d writes %d to %s" % (h, at, log), \
                            self.with_holder(state, h, me._replace(pending=(log, at), written=at))
        if me.pc != "gone":
            yield from self.report(state, h, me)

    def land(self, state, h, me):
        log, at = me.pending
        if at < state.horizon[LOGS.index(log)]:
            return "holder %d: %d is REJECTED" % (h, at), self.with_holder(state, h, me._replace(pending=None, landed=me.landed + (0,)))
        wrong = None
        for other, it in enumerate(state.holders):
            if other != h and it.pc != "idle":
                later = (it.number, other) > (me.number, h)
                if later and it.began:
                    wrong = "a message of holder %d comes after the first read of holder %d" % (h, other)
                elif any(t and (t <= at if later else t >= at) for t in it.landed):
                    wrong = "messages of holders %d and %d are out of order" % (h, other)
        after = self.with_holder(state, h, me._replace(pending=None, landed=me.landed + (at,)))
        return "holder %d: %d lands in %s" % (h, at, log), after._replace(wrong=wrong)

    def report(self, state, h, me):
        """Renewal and release: rules L2 and L8."""
        instance = state.instances[me.by]
        lease = instance.lease
        if lease.holder != h:
            return  # refused: broken meanwhile
        stated = 0 if "forgets-its-watermark" in self.broken else me.written
        if stated and not max(lease.watermark, lease.fence[0]) < stated < lease.expiry:
            return  # refused (rule L2)
        stated = max(stated, lease.stated)
        fenced = me.fenced or "reports-no-fence-made" in self.broken
        for expiry in self.signable(instance):
            if expiry >= lease.expiry:
                renewed = lease._replace(stated=stated, expiry=expiry)
                if fenced:
                    renewed = renewed._replace(watermark=max(lease.watermark, lease.fence[0]), fence=NO_FENCE)
                after = self.with_instance(state, me.by, instance._replace(lease=renewed))
                yield "holder %d renews until %d" % (h, expiry), self.with_holder(after, h, me._replace(expiry=expiry))
        if not me.pending or "releases-early" in self.broken:
            released = lease._replace(released=True, stated=stated, fenced=fenced)
            after = self.with_instance(state, me.by, instance._replace(lease=released))
            yield "holder %d releases" % h, self.with_holder(after, h, me._replace(pc="gone"))


if __name__ == "__main__":
    main(CarriedFence, MUTATIONS, BOUNDS)
