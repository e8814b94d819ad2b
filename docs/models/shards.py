#!/usr/bin/env python3
"""Several servers share a store: rule L16 of the protocol where the chains of two maps meet, with L1 to L3, L8, L10 to L12 and F1.

One name, one log, holders and leases as in resume.py. In the larger world instances 0 and 1 are of the shard that has the name under
the first map, instance 2 of the one that has it under the second; their order is that of (map, number). An instance of the first map
may take its number, list ceilings and publish at any time, also long after the second map is there and used. To publish the map is
a step of its own. Servers of other shards refuse the name, so they are left out.

Each rule is left out in a small world in which that does harm.
"""
from explorer import main
from resume import Resume

MUTATIONS = {
    "late": ("nothing, with two instances of the later map", "all rules hold", "late"),
    "no-look-for-maps": ("an instance that has published a ceiling looks for later ones of its own chain, and for no map", None, "meet"),
    "looks-then-publishes": ("an instance looks for a later map before it publishes a ceiling, and not afterwards", None, "meet"),
    "own-chain-only": ("an instance lists the ceilings of its own chain, and not those of earlier maps", None, "meet"),
    "begins-before-its-map": ("an instance lists the ceilings of earlier maps before its map is published", None, "meet"),
    "map-not-forced": ("the second map is acted on before it is durable; the store's server loses power", None, "meet"),
    "other-shard-grants": ("an instance of the second map grants the name in whose shard it is not", None, "late"),
    "resumes-over-a-map": ("an instance resumes a lease of any earlier map, whatever was granted since", None, "late"),
}

# chains: for each instance the map (0 or 1) and the place in its chain
WORLDS = {
    "meet": dict(holders=2, ceilings=((2,), (4,), (4,)), times=(1, 3), chains=((0, 0), (0, 1), (1, 0))),
    "late": dict(holders=2, ceilings=((2,), (2,), (4,)), times=(3,), chains=((0, 0), (1, 0), (1, 1))),
}
SMALL = {
    "meet": dict(holders=2, ceilings=((2, 4), (4,)), times=(1, 3), chains=((0, 0), (1, 0))),
    "late": dict(holders=2, ceilings=((2,), (2,), (4,)), times=(3,), chains=((0, 0), (1, 0), (1, 1))),
}
BOUNDS = {"small": SMALL, "default": WORLDS}


class Shards(Resume):
    """A state is (whether the second map is published and durable, state of the names' leases)."""
    def __init__(self, names, worlds):
        named = [MUTATIONS[name][2] for name in sorted(names)]
        world = worlds[named[0] if named else "meet"]
        super().__init__(set(), {"two": world})
        self.broken = frozenset(names - set(worlds))
        if "resumes-over-a-map" in self.broken:
            self.broken |= {"resumes-over-an-instance"}
        self.chains = world["chains"]
        self.plain = True  # what resume.py merges goes by one chain

    def initial(self):
        return 0, super().initial()

    def wrong(self, state):
        return state[1].wrong

    def steps(self, state):
        published, inner = state
        self.published = published
        if not published:
            yield "the second map is published, and its name forced", (2, inner)
            if "map-not-forced" in self.broken:
                yield "the second map is published", (1, inner)
        if published == 1:
            yield "its name is forced", (2, inner)
            yield "power cut: the second map is lost", (0, inner)
        for label, after in super().steps(inner):
            yield label, (published, after)

    def all_steps(self, state):
        for m, it in enumerate(state.instances):
            chain, place = self.chains[m]
            if it.pc == "off":
                may = place == 0 or state.instances[m - 1].pc != "off"
                if chain == 1 and not self.published and "begins-before-its-map" not in self.broken:
                    may = False
                if may:
                    yield ("instance %d takes its number, and its place in the chain", m), self.inst(state, m, it._replace(pc="numbered"))
                continue
            yield from self.own_steps(state, m, it)
            if it.permitted:
                yield from self.lease_steps(state, m, it)
                yield from self.resume_steps(state, m, it)
                yield from self.acquire(state, m, it)
        for h, me in enumerate(state.holders):
            if me.pc == "idle":
                break
            yield from self.holder_steps(state, h, me)

    def before(self, m):
        """The instances whose ceilings it lists."""
        chain = self.chains[m][0]
        same = "own-chain-only" in self.broken
        alone = "other-shard-grants" in self.broken and chain == 1  # an entry of another shard: passed over
        return [g for g in range(m) if not (same and self.chains[g][0] != chain) and not (alone and self.chains[g][0] == chain)]

    def later(self, state, m):
        """Whether it finds what supersedes it."""
        chain = self.chains[m][0]
        if "other-shard-grants" in self.broken and chain == 1:
            return False
        own = any(state.instances[g].pc != "off" for g in range(m + 1, self.n) if self.chains[g][0] == chain)
        looks = "no-look-for-maps" not in self.broken
        return own or looks and chain == 0 and self.published

    def own_steps(self, state, m, it):
        if it.pc == "numbered":
            ceilings = {g: state.instances[g].published for g in self.before(m)}
            earlier = max(ceilings.values(), default=0)
            opened = max((g for g, published in ceilings.items() if published), default=-1)
            yield ("instance %d lists the ceilings: %d", m, earlier), \
                self.inst(state, m, it._replace(pc="on", earlier=earlier, last_open=opened))
        elif it.pc == "on":
            early = "looks-then-publishes" in self.broken
            for ceiling in self.ceilings[m]:
                if ceiling > it.published:
                    if not early:
                        yield ("instance %d publishes the ceiling %d", m, ceiling), \
                            self.inst(state, m, it._replace(published=ceiling, pc="looking"))
                    elif not self.later(state, m):
                        yield ("instance %d sees no later one", m), self.inst(state, m, it._replace(pc="looked"))
        elif it.pc == "looked":
            for ceiling in self.ceilings[m]:
                if ceiling > it.published:
                    yield ("instance %d publishes the ceiling %d", m, ceiling), \
                        self.inst(state, m, it._replace(published=ceiling, permitted=ceiling, pc="on"))
        elif it.pc == "looking":
            if self.later(state, m):
                yield ("instance %d sees a later one, or the map", m), self.inst(state, m, it._replace(pc="stopped"))
            else:
                yield ("instance %d sees neither", m), self.inst(state, m, it._replace(pc="on", permitted=it.published))


if __name__ == "__main__":
    main(Shards, MUTATIONS, BOUNDS)
