#!/usr/bin/env bash
# Benchmarks of Cinch; see docs/benchmarks.md. Usage:
#   examples/bench/run.sh append|close|peers|process [DIRECTORY] [ROUNDS]
#   examples/bench/run.sh leases [--cell] [--install] [ROUNDS]
#   examples/bench/run.sh memory [LEASES] [history]
#   examples/bench/run.sh cell [LEASES] [BYTES OF A DATAGRAM] [ROUNDS]    also what the next two do
#   examples/bench/run.sh signed [LEASES] [ROUNDS]
#   examples/bench/run.sh micro [DIRECTORY] [OPTIONS OF JMH]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
what=${1:?append, cell, close, leases, memory, micro, peers, process or signed}
[ "$what" = leases ] && exec "$root/examples/bench/leases.sh" "${@:2}"
dir=${2:-/dev/shm}
rounds=${3:-5}
cd "$root"
[ -f cli/target/cinch.jar ] && [ -d bagstore/target/test-classes ] || mvn -B -q -DskipTests package
run() { java -Xmx4g "${flags[@]}" -cp "$1" "${@:2}"; }
flags=()
case $what in
  append) run cli/target/cinch.jar:bagstore/target/test-classes dev.cinch.bag.bench.AppendBench "$dir" "$rounds" 1000; rm -rf "$dir"/append-bench* ;;
  close) run cli/target/cinch.jar:bagstore/target/test-classes dev.cinch.bag.bench.CloseBench "$dir" "$rounds" ;;
  peers)
    out=examples/target/bench
    mkdir -p "$out"
    mvn -B -q -f examples/bench/pom.xml dependency:build-classpath -Dmdep.outputFile="$root/$out/peers.txt"
    cp="$root/cli/target/cinch.jar:$out:$(cat "$out/peers.txt")"
    javac -nowarn -d "$out" -cp "$cp" examples/bench/PeerBench.java
    flags=(--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED --add-exports=java.base/sun.nio.ch=ALL-UNNAMED
      --add-exports=jdk.unsupported/sun.misc=ALL-UNNAMED --add-exports=jdk.compiler/com.sun.tools.javac.file=ALL-UNNAMED
      --add-opens=jdk.compiler/com.sun.tools.javac=ALL-UNNAMED --add-opens=java.base/java.lang=ALL-UNNAMED
      --add-opens=java.base/java.lang.reflect=ALL-UNNAMED --add-opens=java.base/java.io=ALL-UNNAMED
      --add-opens=java.base/java.util=ALL-UNNAMED --add-opens=java.base/sun.nio.ch=ALL-UNNAMED
      -Dchronicle.analytics.disable=true)
    run "$cp" PeerBench "$dir" "$rounds" 1000; rm -rf "$dir"/peer-bench* ;;
  micro)
    # Class path of the tests, with JMH, of the module that knows the most; what the annotation processor made is in test-classes.
    [ -f bagstore/target/test-classpath.txt ] ||
      mvn -B -q -pl bagstore -am test-compile dependency:build-classpath -Dmdep.outputFile=target/test-classpath.txt
    cp="bagstore/target/classes:bagstore/target/test-classes:lease-service/target/test-classes:$(cat bagstore/target/test-classpath.txt)"
    [ $# -gt 2 ] && options=("${@:3}") || options=(-f 1 -wi 4 -w 500ms -i 7 -r 500ms -prof gc)
    flags=("-Dcinch.bench.dir=$dir")
    run "$cp" org.openjdk.jmh.Main "${options[@]}" ;;
  memory)
    # Held leases in a heap of 1.5 GiB, and for how long Java stopped while all were renewed.
    log=$(mktemp)
    trap 'rm -f "$log" "$log.out"' EXIT
    java -Xmx1536m "-Xlog:safepoint:file=$log:uptime:filecount=0" -cp cli/target/cinch.jar:lease-service/target/test-classes \
      dev.cinch.lease.memory.LeaseMemory "${@:2}" | tee "$log.out"
    awk 'NR == FNR { if (/^renewed all/) { from = $4; to = $6 } next }
      match($0, /Total: *[0-9]+/) { at = substr($1, 2) + 0; ns = substr($0, RSTART + 6, RLENGTH - 6) + 0
        if (at >= from && at <= to) { n++; sum += ns; if (ns > max) max = ns } }
      END { printf "Java stopped %d times meanwhile, %.1f ms at the longest, %.0f ms in all\n", n, max / 1e6, sum / 1e6 }' \
      "$log.out" "$log" ;;
  cell)
    # Three nodes of a replicated cell over loopback, in one process.
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    java -Xmx3g -Djava.io.tmpdir="$tmp" -cp cli/target/cinch.jar:lease-service/target/classes:lease-service/target/test-classes \
      dev.cinch.lease.bench.CellBench "${@:2}"
    examples/bench/run.sh signed ;;
  signed)
    # The leases of a service at such nodes, not signed and signed by a majority of them.
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    java -Xmx3g -Djava.io.tmpdir="$tmp" -Dslf4j.internal.verbosity=ERROR \
      -cp cli/target/cinch.jar:lease-service/target/classes:lease-service/target/test-classes dev.cinch.lease.bench.SignedCellBench "${@:2}" ;;
  process) exec "$root/examples/bench/process.sh" "$dir" "$rounds" ;;
  *) echo "append, cell, close, leases, memory, micro, peers, process or signed" >&2; exit 2 ;;
esac
