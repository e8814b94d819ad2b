#!/usr/bin/env bash
# Cinch's replicated cell beside XtreemFS's Flease, three nodes of each in one process, in turns. Usage: cell-peers.sh [LEASES] [ROUNDS]
# CINCH_BENCH_XTREEMFS: directory with XtreemFS's classes, which xtreemfs.sh makes of its source; without it, this says so and ends.
# CINCH_BENCH_OUTSTANDING: acquisitions at a time at each node (1024).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
if [ -z "${CINCH_BENCH_XTREEMFS:-}" ]; then
  echo "skipped: XtreemFS's Flease (CINCH_BENCH_XTREEMFS=DIR names its classes, which examples/bench/xtreemfs.sh makes)"
  exit 0
fi
if [ ! -f "$CINCH_BENCH_XTREEMFS/org/xtreemfs/foundation/flease/FleaseStage.class" ]; then
  echo "cell-peers: no org/xtreemfs/foundation/flease/FleaseStage.class in $CINCH_BENCH_XTREEMFS; examples/bench/xtreemfs.sh makes it" >&2
  exit 2
fi
[ -f cli/target/cinch.jar ] && [ -d lease-service/target/test-classes ] || mvn -B -q -DskipTests package
out=examples/target/bench/cell
mkdir -p "$out"
classes=cli/target/cinch.jar:lease-service/target/classes:lease-service/target/test-classes:$CINCH_BENCH_XTREEMFS:$out
javac -nowarn -proc:none -d "$out" -cp "$classes" examples/bench/CellPeerBench.java
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
echo "$(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg)"
java -Xmx3g -Djava.io.tmpdir="$tmp" -Dslf4j.internal.verbosity=ERROR -cp "$classes" \
  CellPeerBench "${1:-60000}" "${CINCH_BENCH_OUTSTANDING:-1024}" "${2:-5}"
