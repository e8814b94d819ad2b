#!/usr/bin/env bash
# Nodes of a cell, each in a network namespace of its own, under faults; and writers that take leases from each other.
#
#   cell.sh [--nodes 3|5] [--algorithm paxoslease|flease] [--faults LIST] [--mix] [--seed S] [--keep] [--short] [SECONDS]
#
# LIST is some of none,kill,freeze,partition,oneway,loss,duplicate,reorder,rate (all of them), and each gets a cell, a
# store and SECONDS (60) of its own, and a row of the table. Flease has no rate: it goes by the wall clock. --mix is one
# run in which they take turns. --short takes less than a minute. Needs root, iproute2, /dev/net/tun, python3 and a build
# (mvn -Dquick package). Exit code 0: nothing was lost, doubled, out of order or held by two, and nothing hung. 1:
# something was; the files are kept. 2: wrong command line. 77: skipped, with the reason.
set -euo pipefail
exec python3 "$(dirname "${BASH_SOURCE[0]}")/cell.py" "$@"
