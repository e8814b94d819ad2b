#!/usr/bin/env bash
# Leases of Cinch beside those of etcd, ZooKeeper and Redis: servers in processes of their own on this machine, all callers in one
# client process, in turns in one run. Usage: leases.sh [--install] [ROUNDS]
# --install: first install what is missing, with apt-get. CINCH_BENCH_DIR: where the servers keep their data (/var/tmp, which should be
# on a disk). CINCH_BENCH_MILLIS: how long a turn lasts (2000). CINCH_BENCH_GRANTS: grants of 1,000 leases that are renewed (16).
# CINCH_BENCH_PEERS: which ones ("etcd zookeeper redis"). CINCH_BENCH_NATIVE=1: Cinch's server and client sign and check with the add-on
# that docs/operating.md names.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
out=examples/target/bench/leases
packages=(etcd-server redis-server)
if [ "${1:-}" = --install ]; then
  shift
  apt-get install -y --no-install-recommends "${packages[@]}"
fi
rounds=${1:-5}
peers=" ${CINCH_BENCH_PEERS:-etcd zookeeper redis} "
[ -f cli/target/cinch.jar ] && [ -d lease-service/target/test-classes ] || mvn -B -q -DskipTests package
mkdir -p "$out"
if [ ! -s "$out/classpath.txt" ] || [ examples/bench/lease-peers.xml -nt "$out/classpath.txt" ]; then
  mvn -B -q -f examples/bench/lease-peers.xml dependency:build-classpath -Dmdep.outputFile="$root/$out/classpath.txt"
fi
libraries=$(cat "$out/classpath.txt")
classes=cli/target/cinch.jar:lease-service/target/test-classes:$out:$libraries
javac -nowarn -proc:none -d "$out" -cp "$classes" examples/bench/LeasePeerBench.java

if [ "${CINCH_BENCH_NATIVE:-}" = 1 ]; then
  processor=$(uname -m)
  version=$(sed -n 's,.*<corretto.version>\(.*\)</corretto.version>.*,\1,p' pom.xml)
  export CINCH_ADDONS=$root/$out/addons
  mvn -B -q -N dependency:copy -DoutputDirectory="$CINCH_ADDONS" \
    -Dartifact="software.amazon.cryptools:AmazonCorrettoCryptoProvider:$version:jar:linux-${processor/aarch64/aarch_64}"
  classes+=$(printf ':%s' "$CINCH_ADDONS"/*.jar)
else
  export CINCH_ADDONS= # nor that of this checkout
fi

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

free_port() {
  local port
  while port=$((20000 + RANDOM % 10000)) && answers "$port"; do :; done
  echo "$port"
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

cli/bin/cinch init "$work/store" >/dev/null
start cinch cli/bin/cinch serve --store "$work/store" --key "$work/cinch.key" --port 0
await cinch grep -qs 'http://' "$work/cinch.out"
addresses=("cinch=$(grep -o 'http://[0-9.:]*' "$work/cinch.out" | sed -n 1p)")
versions="$(cli/bin/cinch --version | sed -n 1p)"
if wanted etcd etcd; then
  port=$(free_port)
  peer=$(free_port)
  start etcd etcd --data-dir "$work/etcd" --log-outputs stderr --logger zap \
    --listen-client-urls "http://127.0.0.1:$port" --advertise-client-urls "http://127.0.0.1:$port" \
    --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
    --initial-cluster "default=http://127.0.0.1:$peer"
  await etcd answers "$port"
  addresses+=("etcd=http://127.0.0.1:$port")
  versions+=", $(etcd --version | sed -n 1p)"
fi
if wanted zookeeper java; then
  port=$(free_port)
  printf '%s\n' "dataDir=$work/zookeeper" "clientPort=$port" clientPortAddress=127.0.0.1 maxClientCnxns=0 \
    admin.enableServer=false >"$work/zoo.cfg"
  start zookeeper java -Xmx1g -cp "$libraries" org.apache.zookeeper.server.ZooKeeperServerMain "$work/zoo.cfg"
  await zookeeper answers "$port"
  addresses+=("zookeeper=127.0.0.1:$port")
  versions+=", ZooKeeper $(grep -o 'zookeeper-[0-9.]*[0-9]\.jar' <<<"$libraries" | grep -o '[0-9.]*[0-9]')"
fi
if wanted redis redis-server; then
  port=$(free_port)
  start redis redis-server --bind 127.0.0.1 --port "$port" --dir "$work" --save "" --appendonly no
  await redis answers "$port"
  addresses+=("redis=redis://127.0.0.1:$port")
  versions+=", Redis $(redis-server --version | grep -o 'v=[0-9.]*' | cut -c3-)"
fi

versions+=", Cinch $(grep -m 1 '^signs with' "$work/cinch.out" || echo 'has not said what it signs with')"
echo "$versions; data on $(stat -f -c %T "$work"), $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg)"
# shellcheck disable=SC2086 # several options in one variable are meant
java -Xmx2g -Dslf4j.internal.verbosity=ERROR ${CINCH_BENCH_JAVA_OPTS:-} -cp "$classes" LeasePeerBench "$rounds" "${CINCH_BENCH_MILLIS:-2000}" \
  "${CINCH_BENCH_GRANTS:-16}" "${addresses[@]}"
