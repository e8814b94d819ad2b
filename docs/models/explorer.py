"""Breadth-first search through all states of a model, and the command line that the models share.

A model has initial(), steps(state), which yields (label, next state), and wrong(state), which says what is wrong or None.
States are hashable. Whatever may stop for ever needs no step for that: what is true must be true in every state.
"""
import argparse
import sys
import time


def explore(model):
    """How many states, what is wrong first, and a shortest way there."""
    layer = [model.initial()]
    before = {layer[0]: None}
    while layer:
        following = []
        for state in layer:
            for _, after in model.steps(state):
                if after not in before:
                    before[after] = state
                    wrong = model.wrong(after)
                    if wrong:
                        return len(before), wrong, trace(model, before, after)
                    following.append(after)
        layer = following
    return len(before), None, []


def trace(model, before, state):
    labels = []
    while before[state] is not None:
        labels.append(next(label for label, after in model.steps(before[state]) if after == state))
        state = before[state]
    return labels[::-1]


def main(model, mutations, bounds):
    """mutations: name -> (what is left out, why nothing goes wrong, or None, ...). Exit code 0 if all is as it says."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bounds", choices=bounds, default="default")
    parser.add_argument("--only", metavar="MUTATION", help="'none', a name, or names joined by '+': explore that, print the trace")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="the protocol, and each N-th rule left out")
    args = parser.parse_args()
    as_expected = True
    for name in [args.only] if args.only else ["none", *list(mutations)[::args.every]]:
        names = set() if name == "none" else set(name.split("+"))
        if not args.only:
            expected = name != "none" and mutations[name][1] is None
        elif names - {one for joined in mutations for one in joined.split("+")}:
            sys.exit("mutations: " + ", ".join(mutations))
        began = time.process_time()
        states, wrong, labels = explore(model(names, bounds[args.bounds]))
        verdict = "%d steps: %s" % (len(labels), wrong) if wrong else "nothing goes wrong"
        print("%-28s %9d states %6.1f s  %s" % (name, states, time.process_time() - began, verdict), flush=True)
        if args.only:
            print("\n".join("    %s" % label for label in map(str, labels)))
        elif (wrong is not None) != expected:
            print("    that was not expected")
            as_expected = False
    sys.exit(0 if as_expected else 1)
