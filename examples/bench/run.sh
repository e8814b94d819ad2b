#!/usr/bin/env bash
# Benchmarks of Cinch; see docs/benchmarks.md. Usage:
#   examples/bench/run.sh append|close|peers|process [DIRECTORY] [ROUNDS]
#   examples/bench/run.sh growth [DIRECTORY] [SIZE]
#   examples/bench/run.sh leases [--cell] [--install] [ROUNDS]
#   examples/bench/run.sh memory [LEASES] [history]
#   examples/bench/run.sh cell [LEASES] [BYTES OF A DATAGRAM] [ROUNDS]
#   examples/bench/run.sh micro [DIRECTORY] [OPTIONS OF JMH]
#   examples/bench/run.sh --moment    all of them, for a moment each: fails where one does
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
# What --moment runs. A command without a line here is refused, so that none is forgotten.
moments='append /dev/shm 1
cell 1000 1400 1
close /dev/shm 1
growth /dev/shm 1
leases 1
leases --cell 1
memory 10000
memory 10000 history
micro /dev/shm -f 0 -bm ss -wi 0 -i 1 -foe true
peers /dev/shm 1
process /dev/shm 1'
names=$(cut -d ' ' -f 1 <<<"$moments" | sort -u | paste -sd ' ')
what=${1:-}
[[ " $names --moment " == *" ${what:-none} "* ]] || { echo "run.sh: --moment, or one of: $names" >&2; exit 2; }
dir=/dev/shm
case $what in append | close | growth | micro | peers | process) dir=${2:-$dir} ;; esac
rounds=${3:-5}
out=examples/target/bench
mkdir -p "$out"

# Classes of main and of tests must be of the same sources: a quick build makes the former alone.
built() {
  local module
  for module in cli bagstore lease-service; do [ -d "$module/target/test-classes" ] || return 1; done
  [ -f cli/target/cinch.jar ] && [ -f "$out/built" ] &&
    [ -z "$(find pom.xml ./*/pom.xml ./*/src ./*/*/pom.xml ./*/*/src -newer "$out/built" -print -quit)" ]
}
if [ -z "${CINCH_BENCH_BUILT:-}" ] && ! built; then
  touch "$out/begun"
  mvn -B -q -DskipTests package
  mv "$out/begun" "$out/built"
fi
export CINCH_BENCH_BUILT=yes

# One class path for all: what the tests of one module need of another's is there, wherever it moves.
classes=cli/target/cinch.jar:bagstore/target/test-classes:lease-service/target/test-classes:$out
flags=()
run() { java -Xmx4g -Dslf4j.internal.verbosity=ERROR "${flags[@]}" -cp "$classes" "$@"; }
# A directory of this run's own, in $dir, that goes with it.
within() {
  dir=$(mktemp -d "$dir/cinch-bench.XXXXXX")
  trap 'rm -rf "$dir"' EXIT
}
case $what in
  append)
    within
    run dev.cinch.bag.bench.AppendBench "$dir" "$rounds" "${CINCH_BENCH_MILLIS:-1000}" ;;
  close)
    within
    run dev.cinch.bag.bench.CloseBench "$dir" "$rounds" ;;
  growth)
    within
    classes+=:cli/target/test-classes
    flags=(-Dslf4j.provider=org.slf4j.helpers.NOP_FallbackServiceProvider)
    run dev.cinch.cli.bench.GrowthBench "$dir" cli/bin/cinch "${3:-5}" ;;
  leases)
    export classes
    exec examples/bench/leases.sh "${@:2}" ;;
  peers)
    within
    [ "$out/peers.txt" -nt examples/bench/pom.xml ] ||
      mvn -B -q -f examples/bench/pom.xml dependency:build-classpath -Dmdep.outputFile="$root/$out/peers.txt"
    classes+=:$(cat "$out/peers.txt")
    javac -nowarn -d "$out" -cp "$classes" examples/bench/PeerBench.java
    flags=(--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED --add-exports=java.base/sun.nio.ch=ALL-UNNAMED
      --add-exports=jdk.unsupported/sun.misc=ALL-UNNAMED --add-exports=jdk.compiler/com.sun.tools.javac.file=ALL-UNNAMED
      --add-opens=jdk.compiler/com.sun.tools.javac=ALL-UNNAMED --add-opens=java.base/java.lang=ALL-UNNAMED
      --add-opens=java.base/java.lang.reflect=ALL-UNNAMED --add-opens=java.base/java.io=ALL-UNNAMED
      --add-opens=java.base/java.util=ALL-UNNAMED --add-opens=java.base/sun.nio.ch=ALL-UNNAMED
      -Dchronicle.analytics.disable=true)
    run PeerBench "$dir" "$rounds" "${CINCH_BENCH_MILLIS:-1000}" ;;
  micro)
    # With JMH, as the tests of the module that knows the most have it; what its annotation processor made is in test-classes.
    [ bagstore/target/test-classpath.txt -nt pom.xml ] ||
      mvn -B -q -pl bagstore -am test-compile dependency:build-classpath -Dmdep.outputFile=target/test-classpath.txt
    classes="bagstore/target/classes:bagstore/target/test-classes:lease-service/target/test-classes:$(cat bagstore/target/test-classpath.txt)"
    [ $# -gt 2 ] && options=("${@:3}") || options=(-f 1 -wi 4 -w 500ms -i 7 -r 500ms -prof gc)
    flags=("-Dcinch.bench.dir=$dir")
    run org.openjdk.jmh.Main "${options[@]}" ;;
  memory)
    # Held leases in a heap of 768 MiB, and for how long Java stopped while all were renewed.
    log=$(mktemp)
    trap 'rm -f "$log" "$log.out"' EXIT
    java -Xmx768m "-Xlog:safepoint:file=$log:uptime:filecount=0" -cp "$classes" dev.cinch.lease.table.LeaseMemory "${@:2}" |
      tee "$log.out"
    awk 'NR == FNR { if (/^renewed all/) { from = $4; to = $6 } next }
      match($0, /Total: *[0-9]+/) { at = substr($1, 2) + 0; ns = substr($0, RSTART + 6, RLENGTH - 6) + 0
        if (at >= from && at <= to) { n++; sum += ns; if (ns > max) max = ns } }
      END { printf "Java stopped %d times meanwhile, %.1f ms at the longest, %.0f ms in all\n", n, max / 1e6, sum / 1e6 }' \
      "$log.out" "$log" ;;
  cell) # Three nodes of a replicated cell over loopback, in one process.
    within
    flags=(-Xmx3g -Djava.io.tmpdir="$dir")
    run dev.cinch.lease.bench.CellBench "${@:2}" ;;
  process) exec examples/bench/process.sh "$dir" "$rounds" ;;
  --moment)
    export CINCH_BENCH_MILLIS=100 CINCH_BENCH_GRANTS=1 CINCH_BENCH_LINES=10000 CINCH_BENCH_FILES=2
    failed=()
    while read -r line; do
      begun=$SECONDS code=0
      echo "bench: $line"
      # shellcheck disable=SC2086 # a line is several arguments
      timeout 600 examples/bench/run.sh $line </dev/null || code=$?
      echo "bench: ended with $code after $((SECONDS - begun)) s: $line"
      [ "$code" -eq 0 ] || failed+=("$line")
    done <<<"$moments"
    [ ${#failed[@]} -eq 0 ] || { printf 'bench: failed: %s\n' "${failed[@]}" >&2; exit 1; } ;;
esac
