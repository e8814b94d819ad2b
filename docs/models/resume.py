#!/usr/bin/env python3
"""Resuming leases: rules L10 to L13 of the protocol, with L1, L2, L3, L8 and F1.

One name, one log. Holders take the name in turn, each from any instance of the lease service; each holder is one lease (one
correlation). Requests to resume, renewals, releases and answers may come at any later time, again and again, or never. There is
no clock: a lease may expire and be prolonged, and the horizon may advance, at any moment. Instances start, list ceilings, publish
them and sign; each may go on while later ones do. To end a lease is a step of its own, so that everything may come between it and
what it permits. Appending is one step: what is decided on earlier is permitted still, since expiries only grow, and a holder
that releases waits for its verdicts.

Checked (F1): no message lands after the first read of a later lease, and timestamps follow the order of leases, which is that of
(instance that granted, grants within it); a resumed lease keeps its place. (L1): no two holders that use their leases (fenced, not given
back) both have an expiry above the horizon. Left out, since all it does is refuse: a clock that calls a witness expired, and stopping for
good where another's end is found; here that name alone is refused.

Each rule is left out in the smallest world in which that does harm: the name of a world stands behind it.
"""
from collections import namedtuple

from explorer import main

# name -> (what is left out, None, the world); a world by itself has all rules
MUTATIONS = {
    "chain": ("nothing, with three instances", "all rules hold", "chain"),
    "tentative": ("nothing, with tentative leases and upgrades", "all rules hold", "tentative"),
    "forget": ("nothing, with instances that forget", "all rules hold", "forget"),
    "again": ("nothing, with acquires that come twice", "all rules hold", "again"),
    "no-file-at-earlier": ("an instance grants the name of an expired lease without making its ends file", None, "two"),
    "no-file-at-later": ("an instance resumes without making the ends file", None, "two"),
    "grants-then-file": ("an instance grants first and makes the ends file afterwards", None, "two"),
    "resumes-then-file": ("an instance resumes first and makes the ends file afterwards", None, "two"),
    "file-not-forced": ("an ends file is acted on before it is durable; the store's server loses power", None, "two"),
    "believes-any-file": ("an instance goes on when the ends file is there, whoever made it", None, "two"),
    "file-per-correlation": ("ends/<c> instead of ends/<c>@<instance>; a later instance takes over its predecessor's", None, "chain"),
    "file-without-instance-of-witness": ("the file names the instance that makes it, not the one that is ended", None, "chain"),
    "resumes-over-an-instance": ("the witness is of an instance before the last one that could grant", None, "chain"),
    "resumes-a-known-name": ("an instance resumes a name that it has granted to somebody", None, "two"),
    "looks-before-the-file": ("whether the name was granted is looked at before the ends file is made, and not again", None, "two"),
    "resumes-tentative": ("a tentative lease is resumed", None, "tentative"),
    "resumes-after-forgetting": ("an instance that has forgotten names resumes one it does not know", None, "forget"),
    "forgets-without-file": ("an instance forgets a lease that was not released, and makes no ends file", None, "forget"),
    "forgets-own-resume": ("an ends file of its own is enough to resume, also for a name it granted and forgot", None, "forget"),
    "answers-for-another-lease": ("a resume is answered because the same request's acquire was granted anew here", None, "again"),
    "own-expiry-only": ("who follows an unreleased resumed lease fences its expiry, not the earlier ceilings", None, "grown"),
    "ceilings-only": ("who follows an unreleased resumed lease fences the earlier ceilings, not its expiry", None, "two"),
    "no-fence-after-resumed": ("who follows an unreleased resumed lease gets its watermark only", None, "two"),
    "drops-carried-fence": ("that fence is dropped when its carrier releases without having made it", None, "two"),
    "resume-drops-carry": ("what the resumed lease itself had to fence is forgotten", None, "two"),
    "resume-forgets-bound": ("what the resumed lease inherited as watermark is forgotten", None, "tall"),
    "release-anywhere": ("a release counts at any instance that has the lease, not only the one it was sent to", None, "two"),
    "releases-at-both": ("a holder that was resumed releases at the earlier instance too", None, "two"),
    "resumes-after-release": ("a holder takes the answer to a resume after it sent a release elsewhere", None, "two"),
    "forgets-before-resume": ("a holder states only what it wrote since it was resumed", None, "two"),
    "refused-watermark-released": ("a release whose watermark is not below the expiry counts, without its watermark", None, "grown"),
    "ceiling-without-look": ("an instance publishes ceilings without looking for a later one", None, "grown"),
    "no-ceiling-fence": ("a new instance does not fence earlier ceilings", None, "two"),
}
# those that ask for nothing more than the rules do, so that states may be merged as with all rules
MERGED = {"resume-forgets-bound", "resume-drops-carry", "own-expiry-only", "ceilings-only",
          "no-fence-after-resumed", "drops-carried-fence", "no-ceiling-fence"}

# ceilings: those that each instance may publish; expiries are any of them; times: timestamps; a horizon of h has settled the
# times below h.
WORLDS = {
    "two": dict(holders=3, ceilings=((2, 4), (4,)), times=(1, 3)),
    "tall": dict(holders=3, ceilings=((4,), (4,)), times=(1, 3)),
    "grown": dict(holders=3, ceilings=((2, 4), (4,)), times=(1, 3)),
    "chain": dict(holders=3, ceilings=((2,), (2,), (4,)), times=(3,)),
    "tentative": dict(holders=3, ceilings=((2,), (4,)), times=(1, 3), tentative=True),
    "forget": dict(holders=3, ceilings=((2,), (4,)), times=(1, 3), forget=True),
    "again": dict(holders=3, ceilings=((2,), (4,)), times=(1, 3), again=True),
}
# In small ones each rule left out does harm still.
SMALL = {
    **WORLDS,
    "two": dict(holders=3, ceilings=((2,), (4,)), times=(1, 3)),
    "chain": dict(holders=2, ceilings=((2,), (2,), (4,)), times=(3,)),
    "forget": dict(holders=2, ceilings=((2,), (4,)), times=(3,), forget=True),
    "again": dict(holders=2, ceilings=((2,), (4,)), times=(3,), again=True),
}
BOUNDS = {"small": SMALL, "default": WORLDS}

State = namedtuple("State", "horizon instances holders ends wrong")
# pc: off, numbered, on, looking, stopped. last_open: the last earlier instance that could grant. forgot: (watermark, fence)
Instance = namedtuple("Instance", "pc earlier last_open permitted published lease forgot")
OFF = Instance("off", 0, -1, 0, 0, None, None)
# The last lease that the instance remembers. state: tentative, full, released. fresh: granted anew to a repeated acquire
Lease = namedtuple("Lease", "holder state resumed fence watermark stated fenced fresh")
# pc: idle, granted (and fencing), began, gone. by: the instance whose witness counts; known: all whose witnesses it had;
# signed: highest expiry by instance; cleared: a witness without the fence exists; first: the instance that granted;
# high: the last timestamp that landed; at: what it wrote when it was resumed; addressed: instances it sent a release to
Holder = namedtuple("Holder", "pc tentative first by known fence watermark cleared signed high read at addressed")


class Label(tuple):
    """A text and what stands in it, put together only where it is printed."""
    def __str__(self):
        return self[0] % self[1:]


class Resume:
    def __init__(self, names, worlds):
        worlds_named = [MUTATIONS[name][2] for name in sorted(names)]
        world = worlds[worlds_named[0] if worlds_named else "two"]
        self.broken = frozenset(names - set(worlds))
        self.plain = bool(self.broken - MERGED)
        self.ceilings, self.times = world["ceilings"], world["times"]
        self.n, self.h = len(self.ceilings), world["holders"]
        self.ends = sorted({end for some in self.ceilings for end in some})
        self.tentative, self.forget, self.again = (world.get(k, False) for k in ("tentative", "forget", "again"))

    def initial(self):
        idle = Holder("idle", False, -1, -1, 0, 0, 0, False, (0,) * self.n, 0, False, 0, 0)
        first = OFF._replace(pc="on", published=self.ceilings[0][0], permitted=self.ceilings[0][0])
        return State(0, (first,) + (OFF,) * (self.n - 1), (idle,) * self.h, ((0,) * self.n,) * self.h, None)

    # -- helpers

    @staticmethod
    def inst(state, m, it):
        return state._replace(instances=state.instances[:m] + (it,) + state.instances[m + 1:])

    def hold(self, state, h, me):
        if me.pc == "gone" and "resumes-after-release" not in self.broken:  # forget what nobody asks for any more
            me = me._replace(by=0, tentative=False)
        state = state._replace(holders=state.holders[:h] + (me,) + state.holders[h + 1:])
        if state.wrong is None:
            using = [(x.signed[x.by], g) for g, x in enumerate(state.holders) if x.pc == "began" and x.signed[x.by] > state.horizon]
            if len(using) > 1:
                return state._replace(wrong="L1: holders %s may write at one time" % " and ".join(str(g) for _, g in using))
        return state

    def end_key(self, c, w, m):
        """Which file ends lease c at instance w, if instance m makes it."""
        if "file-per-correlation" in self.broken:
            return 0
        if "file-without-instance-of-witness" in self.broken:
            return m
        return w

    def made(self, state, c, w, m):
        """Whether instance m may act on the end of c at w."""
        who = state.ends[c][self.end_key(c, w, m)]
        if "believes-any-file" in self.broken:
            return who != 0
        return who == m + 1

    def make(self, state, c, w, m):
        """The store with the file made, or None if it is there."""
        key = self.end_key(c, w, m)
        who = state.ends[c][key]
        if who and not ("file-per-correlation" in self.broken and w != m and who == w + 1):
            return None
        row = state.ends[c][:key] + (m + 1,) + state.ends[c][key + 1:]
        return state._replace(ends=state.ends[:c] + (row,) + state.ends[c + 1:])

    @staticmethod
    def sign(me, m, expiry):
        return me._replace(signed=me.signed[:m] + (max(me.signed[m], expiry),) + me.signed[m + 1:])

    def expiries(self, it):
        return [end for end in self.ends if end <= it.permitted]

    def same(self, state):
        """The state without what no rule asks for any more, where all rules are kept. An ends file that only its own
        instance could still make is as good as made."""
        instances, holders, ends = state.instances, list(state.holders), list(state.ends)
        virgin = [it.lease is None and it.forgot is None and (it.pc != "stopped" or it.permitted > 0) for it in instances]
        heirs = [any(virgin[m] and (instances[m].pc in ("off", "numbered") or w >= instances[m].last_open)
                     for m in range(w + 1, self.n)) for w in range(self.n)]
        for c, me in enumerate(holders):
            if me.pc == "idle":
                break
            gone = me.pc == "gone"
            signed, row, known, addressed, wanted = list(me.signed), list(ends[c]), me.known, me.addressed, False
            for w, it in enumerate(instances):
                last = it.lease
                if last is not None and last.holder == c and last.state != "released":
                    wanted = True
                    if not heirs[w]:
                        row[w] = (row[w] or w + 1) if last.state == "full" else 0
                    continue
                if gone or w < me.by:
                    signed[w] = 0
                if heirs[w]:
                    wanted = wanted or known >> w & 1
                else:
                    if not virgin[w]:
                        row[w] = 0
                    if gone:
                        known &= ~(1 << w)
                addressed &= ~(1 << w)
            ends[c] = tuple(row)
            fence, watermark, cleared = (me.fence, me.watermark, me.cleared) if wanted or not gone else (0, 0, False)
            holders[c] = Holder(me.pc, me.tentative, me.first, me.by, known, fence, watermark, cleared, tuple(signed), me.high,
                                me.read, me.at, addressed)
        return State(state.horizon, state.instances, tuple(holders), tuple(ends), None)

    # -- steps

    def wrong(self, state):
        return state.wrong

    def steps(self, state):
        for label, after in self.all_steps(state):
            yield Label(label), after if self.plain or after.wrong else self.same(after)

    def all_steps(self, state):
        for m, it in enumerate(state.instances):
            if it.pc == "off":
                if m == 0 or state.instances[m - 1].pc != "off":
                    yield ("instance %d takes its number", m), self.inst(state, m, it._replace(pc="numbered"))
                break
            yield from self.own_steps(state, m, it)
            if it.permitted:
                yield from self.lease_steps(state, m, it)
                yield from self.resume_steps(state, m, it)
                yield from self.acquire(state, m, it)
        for h, me in enumerate(state.holders):
            if me.pc == "idle":
                break
            yield from self.holder_steps(state, h, me)
        if "file-not-forced" in self.broken:
            for c, row in enumerate(state.ends):
                if any(row):
                    yield ("power cut: the ends files of lease %d are lost", c), \
                        state._replace(ends=state.ends[:c] + ((0,) * self.n,) + state.ends[c + 1:])

    def own_steps(self, state, m, it):
        """Rule L3."""
        if it.pc == "numbered":
            earlier = max((x.published for x in state.instances[:m]), default=0)
            opened = max((g for g in range(m) if state.instances[g].published), default=-1)
            yield ("instance %d lists the ceilings: %d", m, earlier), \
                self.inst(state, m, it._replace(pc="on", earlier=earlier, last_open=opened))
        elif it.pc == "on":
            if m + 1 < self.n and state.instances[m + 1].pc != "off" and it.lease is not None:
                yield ("instance %d looks, and sees a later one", m), self.inst(state, m, it._replace(pc="stopped"))
            for ceiling in self.ceilings[m]:
                if ceiling > it.published:
                    if "ceiling-without-look" in self.broken:
                        yield ("instance %d publishes the ceiling %d", m, ceiling), \
                            self.inst(state, m, it._replace(published=ceiling, permitted=ceiling))
                    else:
                        yield ("instance %d publishes the ceiling %d", m, ceiling), \
                            self.inst(state, m, it._replace(published=ceiling, pc="looking"))
        elif it.pc == "looking":
            if m + 1 < self.n and state.instances[m + 1].pc != "off":
                # it stops for good as to higher ceilings; below the one it had it may go on signing
                yield ("instance %d sees a later one", m), self.inst(state, m, it._replace(pc="stopped"))
            else:
                yield ("instance %d sees no later one", m), self.inst(state, m, it._replace(pc="on", permitted=it.published))

    def inheritance(self, state, m, it):
        """What the next lease takes over: (watermark, fence), or None if the name can't be granted."""
        last = it.lease
        earlier = 0 if "no-ceiling-fence" in self.broken else it.earlier
        if last is None:
            watermark, fence = it.forgot or (0, 0)
            return watermark, max(earlier, fence)
        watermark = max(last.watermark, last.stated)
        if last.state == "released":
            if last.fenced or "drops-carried-fence" in self.broken:
                return max(watermark, last.fence), 0
            return watermark, last.fence
        if last.state == "tentative":  # it may be broken by anyone
            return watermark, last.fence
        if not self.made(state, last.holder, m, m) and not self.broken & {"no-file-at-earlier", "grants-then-file"}:
            return None
        expiry = state.holders[last.holder].signed[m]
        if last.resumed:
            if "no-fence-after-resumed" in self.broken:
                return watermark, last.fence
            if "ceilings-only" in self.broken:
                return watermark, max(last.fence, earlier)
            if "own-expiry-only" not in self.broken:
                expiry = max(expiry, earlier)
        return watermark, max(last.fence, expiry)

    def acquire(self, state, m, it):
        h = next((g for g, x in enumerate(state.holders) if x.pc == "idle"), None)
        what = self.inheritance(state, m, it) if h is not None or self.again else None
        if what is None:
            return
        watermark, fence = what
        if h is not None:
            for tentative in ((False, True) if self.tentative else (False,)):
                for expiry in self.expiries(it):
                    lease = Lease(h, "tentative" if tentative else "full", False, fence, watermark, 0, False, False)
                    me = state.holders[h]
                    read = fence == 0 and not tentative
                    me = me._replace(pc="began" if read else "granted", tentative=tentative, first=m, by=m, known=1 << m,
                                     fence=fence, watermark=watermark, read=read)
                    after = self.inst(state, m, it._replace(lease=lease))
                    yield ("holder %d takes the name from instance %d until %d, above %d, fence %d" + (", tentatively" if tentative else ""),
                           h, m, expiry, watermark, fence), self.hold(after, h, self.sign(me, m, expiry))
        if self.again and it.lease is None:
            for g, me in enumerate(state.holders):
                if me.pc != "idle" and me.first < m:
                    for expiry in self.expiries(it):
                        lease = Lease(g, "full", False, fence, watermark, 0, False, True)
                        yield ("a repeated acquire of holder %d comes to instance %d, which grants until %d", g, m, expiry), \
                            self.hold(self.inst(state, m, it._replace(lease=lease)), g, self.sign(me, m, expiry))

    def lease_steps(self, state, m, it):
        last = it.lease
        if last is None:
            return
        c, me = last.holder, state.holders[last.holder]
        if last.state == "full":
            after = self.make(state, c, m, m)
            if after:
                yield ("instance %d makes the end of lease %d at %d (expired or revoked)", m, c, m), after
        if last.state != "released" and not last.fresh and me.known >> m & 1:
            # renewals, also old ones
            for expiry in self.expiries(it):
                if expiry > me.signed[m]:
                    yield ("instance %d renews lease %d until %d", m, c, expiry), self.hold(state, c, self.sign(me, m, expiry))
            if last.fence and me.read:
                cleared = last._replace(watermark=max(last.watermark, last.fence), fence=0)
                yield ("instance %d renews lease %d and learns that it has fenced", m, c), \
                    self.hold(self.inst(state, m, it._replace(lease=cleared)), c, me._replace(cleared=True))
            if last.state == "tentative" and me.by == m and me.pc == "granted":
                read = last.fence == 0
                yield ("instance %d upgrades lease %d", m, c), \
                    self.hold(self.inst(state, m, it._replace(lease=last._replace(state="full"))), c,
                              me._replace(tentative=False, read=read, pc="began" if read else "granted"))
        sent = me.addressed if "release-anywhere" not in self.broken else me.addressed and -1
        if last.state == "full" and sent >> m & 1:
            stated = me.high
            if "forgets-before-resume" in self.broken and stated == me.at:
                stated = 0
            refused = stated and not max(last.watermark, last.fence) < stated < me.signed[m]
            if refused and "refused-watermark-released" in self.broken:
                stated, refused = 0, False
            if not refused:
                yield ("instance %d takes the release of lease %d, watermark %d", m, c, stated), \
                    self.inst(state, m, it._replace(lease=last._replace(state="released", stated=stated, fenced=me.read)))
        if self.forget:
            what = None
            if last.state == "released" or "forgets-without-file" in self.broken or self.made(state, c, m, m):
                what = Resume.inheritance(Forgetting(self), state, m, it)
            if what is not None:
                was = it.forgot or (0, 0)
                yield ("instance %d forgets the name", m), \
                    self.inst(state, m, it._replace(lease=None, forgot=(max(was[0], what[0]), max(was[1], what[1]))))

    def resume_steps(self, state, m, it):
        last = it.lease
        for c, me in enumerate(state.holders):
            if me.pc == "idle":
                break
            for w in range(m):
                if not me.known >> w & 1 or (me.tentative and "resumes-tentative" not in self.broken):
                    continue
                if w < it.last_open and "resumes-over-an-instance" not in self.broken:
                    continue  # an instance between could grant the name, and would not know of this lease
                virgin = last is None and (it.forgot is None or self.broken & {"resumes-after-forgetting", "forgets-own-resume"})
                if virgin or "resumes-a-known-name" in self.broken:
                    after = self.make(state, c, w, m)
                    if after and not ("forgets-own-resume" in self.broken and it.forgot):
                        yield ("instance %d makes the end of lease %d at %d, to resume it", m, c, w), after
                if not self.made(state, c, w, m) and not self.broken & {"no-file-at-later", "resumes-then-file"}:
                    continue
                if virgin or "resumes-a-known-name" in self.broken and not (last and last.holder == c) \
                        or "looks-before-the-file" in self.broken and not (last and last.holder == c):
                    yield from self.adopt(state, m, it, c, me)
        # resumed first, the file afterwards
        if "resumes-then-file" in self.broken and last is not None and last.resumed:
            me = state.holders[last.holder]
            for w in range(m):
                after = self.make(state, last.holder, w, m) if me.known >> w & 1 else None
                if after:
                    yield ("instance %d makes the end of lease %d at %d afterwards", m, last.holder, w), after

    def adopt(self, state, m, it, c, me):
        options = [(me.fence, me.watermark)]
        if me.cleared:
            options.append((0, max(me.fence, me.watermark)))
        if "resume-drops-carry" in self.broken:
            options = [(0, me.watermark)]
        if "resume-forgets-bound" in self.broken:
            options = [(me.fence, 0)]
        for fence, watermark in options:
            for expiry in self.expiries(it):
                lease = Lease(c, "tentative" if me.tentative else "full", True, fence, watermark, 0, False, False)
                yield ("instance %d resumes lease %d until %d", m, c, expiry), \
                    self.hold(self.inst(state, m, it._replace(lease=lease)), c, self.sign(me, m, expiry))

    def holder_steps(self, state, h, me):
        gone = me.pc == "gone"
        if not gone or "resumes-after-release" in self.broken and me.pc == "gone":
            for m in range(me.by + 1, self.n):
                if me.signed[m]:
                    last = state.instances[m].lease
                    if last is not None and last.holder == h and last.fresh and "answers-for-another-lease" not in self.broken:
                        continue  # not an answer to its resume
                    if self.again and not (last is not None and last.holder == h) and "answers-for-another-lease" not in self.broken \
                            and not any(state.ends[h][w] == m + 1 for w in range(m)):
                        continue
                    yield ("holder %d takes the answer of instance %d: resumed until %d", h, m, me.signed[m]), \
                        self.hold(state, h, me._replace(by=m, known=me.known | 1 << m,
                                                        at=me.high if "forgets-before-resume" in self.broken else 0,
                                                        pc=("began" if me.read else "granted") if gone else me.pc))
        if gone:
            return
        if me.pc == "granted" and not me.tentative:
            yield ("holder %d fences %d and reads", h, me.fence), \
                self.hold(state._replace(horizon=max(state.horizon, me.fence)), h, me._replace(pc="began", read=True))
        if me.pc == "began":
            for at in self.times:
                if max(me.watermark, me.fence, me.high) < at < me.signed[me.by] and at >= state.horizon:
                    yield self.land(state, h, me, at)
        if not me.tentative:
            addressed = me.known if "releases-at-both" in self.broken else me.addressed | 1 << me.by
            yield ("holder %d sends its release to instance %d", h, me.by), \
                self.hold(state, h, me._replace(pc="gone", addressed=addressed))

    def land(self, state, h, me, at):
        wrong = None
        for other, it in enumerate(state.holders):
            if other != h and it.pc != "idle":
                later = (it.first, other) > (me.first, h)
                if later and it.read:
                    wrong = "F1: a message of holder %d comes after the first read of holder %d" % (h, other)
                elif not later and it.high >= at:
                    wrong = "F1: messages of holders %d and %d are out of order" % (h, other)
        after = self.hold(state, h, me._replace(high=at))
        return ("holder %d writes %d under instance %d", h, at, me.by), after._replace(wrong=wrong or after.wrong)


class Forgetting:
    """What is kept of a name that is forgotten is what its next holder would inherit."""
    def __init__(self, model):
        self.broken = model.broken | ({"no-file-at-earlier"} if "forgets-without-file" in model.broken else set())
        self.made = model.made


if __name__ == "__main__":
    main(Resume, MUTATIONS, BOUNDS)
