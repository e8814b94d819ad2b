#!/usr/bin/env bash
# Leases of Cinch beside those of etcd, ZooKeeper and Redis: servers in processes of their own on this machine, all callers in one
# client process, in turns in one run. Usage: run.sh leases [--cell] [--install] [ROUNDS]
# --cell: leases that three servers of each service keep together (lease-cells.sh), not one (lease-servers.sh). --install: first install
# what is missing, with apt-get. CINCH_BENCH_DIR: where the servers keep their data (/var/tmp, which should be on a disk).
# CINCH_BENCH_MILLIS: how long a turn lasts (2000). CINCH_BENCH_GRANTS: grants of 1,000 leases that are renewed (16; none with --cell).
# CINCH_BENCH_PEERS: which ones ("etcd zookeeper redis"; with --cell "paxoslease flease etcd zookeeper cinch-etcd").
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
out=examples/target/bench/leases
packages=(etcd-server redis-server)
cell=
while [[ ${1:-} == --* ]]; do
  case $1 in
    --cell) cell=yes ;;
    --install) apt-get install -y --no-install-recommends "${packages[@]}" ;;
    *) echo "leases: --cell or --install, not $1" >&2; exit 2 ;;
  esac
  shift
done
rounds=${1:-5}
mkdir -p "$out"
if [ ! -s "$out/classpath.txt" ] || [ examples/bench/lease-peers.xml -nt "$out/classpath.txt" ]; then
  mvn -B -q -f examples/bench/lease-peers.xml dependency:build-classpath -Dmdep.outputFile="$root/$out/classpath.txt"
fi
libraries=$(cat "$out/classpath.txt")
classes=${classes:?set by run.sh}:$out:$libraries
javac -nowarn -proc:none -d "$out" -cp "$classes" examples/bench/LeasePeerBench.java

work=$(mktemp -d "${CINCH_BENCH_DIR:-/var/tmp}/lease-bench.XXXXXX")
servers=()
end() {
  for server in "${servers[@]}"; do kill "$server" 2>/dev/null || :; done
  for server in "${servers[@]}"; do wait "$server" 2>/dev/null || :; done
  chmod -R u+w "$work"
  rm -rf "$work"
}
trap end EXIT

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# free_ports N: so many in a row.
free_ports() {
  local first port
  while :; do
    first=$((20000 + RANDOM % 10000))
    for ((port = first; port < first + $1; port++)); do answers "$port" && continue 2; done
    seq -s ' ' "$first" $((first + $1 - 1))
    return
  done
}

# start NAME COMMAND...: a server, whose output is kept for the case that it ends.
start() {
  local name=$1
  shift
  "$@" >"$work/$name.out" 2>&1 </dev/null &
  servers+=($!)
}

# await NAME COMMAND...: until the command succeeds.
await() {
  local name=$1 tries
  shift
  for ((tries = 0; tries < 600; tries++)); do
    "$@" && return
    kill -0 "${servers[-1]}" 2>/dev/null || break
    sleep 0.1
  done
  echo "$name did not start: $(tail -3 "$work/$name.out")" >&2
  exit 1
}

# wanted NAME PROGRAM: whether to measure it; says so where it is missing.
wanted() {
  [[ $peers == *" $1 "* ]] || return 1
  command -v "$2" >/dev/null && return
  echo "skipped: $1, since there is no $2 (--install installs ${packages[*]})"
  return 1
}

versions="$(cli/bin/cinch --version | sed -n 1p)"
addresses=()
if [ -n "$cell" ]; then
  peers=" ${CINCH_BENCH_PEERS:-paxoslease flease etcd zookeeper cinch-etcd} "
  grants=${CINCH_BENCH_GRANTS:-0}
  # shellcheck source=examples/bench/lease-cells.sh
  . examples/bench/lease-cells.sh
else
  peers=" ${CINCH_BENCH_PEERS:-etcd zookeeper redis} "
  grants=${CINCH_BENCH_GRANTS:-16}
  # shellcheck source=examples/bench/lease-servers.sh
  . examples/bench/lease-servers.sh
fi
echo "$versions; data on $(stat -f -c %T "$work"), $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg)"
# shellcheck disable=SC2086 # several options in one variable are meant
java -Xmx2g -Dslf4j.internal.verbosity=ERROR ${CINCH_BENCH_JAVA_OPTS:-} -cp "$classes" LeasePeerBench "$rounds" "${CINCH_BENCH_MILLIS:-2000}" \
  "$grants" "${addresses[@]}"
