# shellcheck shell=bash disable=SC2034,SC2154 # addresses, work and others are those of leases.sh
# Of leases.sh --cell: three servers of each service on this machine, which keep the same leases. Each gets a client of its own, and callers
# are spread over them. A lone caller asks the first, which of etcd and ZooKeeper is the one that leads.
host=127.0.0.1
export CINCH_JAVA_OPTS=${CINCH_JAVA_OPTS:--Xmx1g}

# Whether the etcd, or the ZooKeeper, at this port leads the others.
etcd_leads() (
  exec 2>/dev/null 3<>"/dev/tcp/$host/$1" && printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3 && grep -q '^etcd_server_is_leader 1' <&3
)
zookeeper_leads() (
  exec 2>/dev/null 3<>"/dev/tcp/$host/$1" && printf srvr >&3 && grep -q 'Mode: leader' <&3
)

# leads COMMAND PORT...: puts the ports into $ports, first that of the one which leads; fails if none does.
leads() {
  local leader port
  for leader in "${@:2}"; do
    "$1" "$leader" || continue
    ports=$leader
    for port in "${@:2}"; do [ "$port" = "$leader" ] || ports+=" $port"; done
    return 0
  done
  return 1
}

# addresses_of NAME PREFIX PORT...: NAME=PREFIX:PORT,PREFIX:PORT,... behind what it has already.
addresses_of() { addresses+=("$1$(printf ",$2:%s" "${@:3}")"); }

# cell ALGORITHM: three nodes of Cinch, which vote at once since they are new.
cell() {
  local u1 u2 u3 h1 h2 h3 node
  read -r u1 u2 u3 h1 h2 h3 < <(free_ports 6)
  cli/bin/cinch init "$work/$1-store" >/dev/null
  cli/bin/cinch cell init "$work/$1.json" --algorithm "$1" --store "$work/$1-store" --key "$work/$1-store.key" \
    --node "$host:$u1=http://$host:$h1" --node "$host:$u2=http://$host:$h2" --node "$host:$u3=http://$host:$h3" >/dev/null
  for node in 1 2 3; do
    start "$1-$node" cli/bin/cinch serve --backend "$1" --cell "$work/$1.json" --node "$node" --node-dir "$work/$1-node-$node" \
      --store "$work/$1-store" --first
    await "$1-$node" grep -qs '^listening on' "$work/$1-$node.out"
  done
  await "$1-3" cli/bin/cinch cell status "$work/$1.json" >/dev/null
  addresses_of "$1=$work/$1-store" "http://$host" "$h1" "$h2" "$h3"
}

etcd_cluster() {
  local c1 c2 c3 p1 p2 p3 members ports node
  read -r c1 c2 c3 p1 p2 p3 < <(free_ports 6)
  members=m1=http://$host:$p1,m2=http://$host:$p2,m3=http://$host:$p3
  for node in 1 2 3; do
    local client="c$node" peer="p$node"
    start "etcd-$node" etcd --name "m$node" --data-dir "$work/etcd-$node" --log-outputs stderr --logger zap \
      --listen-client-urls "http://$host:${!client}" --advertise-client-urls "http://$host:${!client}" \
      --listen-peer-urls "http://$host:${!peer}" --initial-advertise-peer-urls "http://$host:${!peer}" --initial-cluster "$members"
  done
  await etcd-3 leads etcd_leads "$c1" "$c2" "$c3"
  # shellcheck disable=SC2086 # three ports
  etcd=$(printf ",http://$host:%s" $ports)
  etcd=${etcd#,}
}

zookeeper_ensemble() {
  local c1 c2 c3 p1 p2 p3 e1 e2 e3 ports node
  read -r c1 c2 c3 p1 p2 p3 e1 e2 e3 < <(free_ports 9)
  for node in 1 2 3; do
    local client="c$node"
    mkdir -p "$work/zookeeper-$node"
    echo "$node" >"$work/zookeeper-$node/myid"
    printf '%s\n' "dataDir=$work/zookeeper-$node" "clientPort=${!client}" "clientPortAddress=$host" maxClientCnxns=0 admin.enableServer=false \
      tickTime=2000 initLimit=10 syncLimit=5 "server.1=$host:$p1:$e1" "server.2=$host:$p2:$e2" "server.3=$host:$p3:$e3" >"$work/zoo-$node.cfg"
    start "zookeeper-$node" java -Xmx1g -cp "$libraries" org.apache.zookeeper.server.quorum.QuorumPeerMain "$work/zoo-$node.cfg"
  done
  await zookeeper-3 leads zookeeper_leads "$c1" "$c2" "$c3"
  # shellcheck disable=SC2086 # three ports
  addresses_of zookeeper "$host" $ports
  addresses[-1]=${addresses[-1]/,/=}
}

# Three servers of Cinch whose leases the same etcd has.
cinch_in_etcd() {
  local h1 h2 h3 server
  read -r h1 h2 h3 < <(free_ports 3)
  cli/bin/cinch init "$work/etcd-store" >/dev/null
  for server in 1 2 3; do
    local port="h$server"
    start "cinch-etcd-$server" cli/bin/cinch serve --backend etcd --etcd "$etcd" --store "$work/etcd-store" --key "$work/etcd-store.key" \
      --port "${!port}"
    await "cinch-etcd-$server" grep -qs '^listening on' "$work/cinch-etcd-$server.out"
  done
  addresses_of "cinch-etcd=$work/etcd-store" "http://$host" "$h1" "$h2" "$h3"
}

for algorithm in paxoslease flease; do
  [[ $peers != *" $algorithm "* ]] || cell "$algorithm"
done
etcd=
if [[ $peers == *" etcd "* || $peers == *" cinch-etcd "* ]] && peers+=" etcd " && wanted etcd etcd; then
  etcd_cluster
  versions+=", $(etcd --version | sed -n 1p)"
  addresses+=("etcd=$etcd")
fi
if wanted zookeeper java; then
  zookeeper_ensemble
  versions+=", ZooKeeper $(grep -o 'zookeeper-[0-9.]*[0-9]\.jar' <<<"$libraries" | grep -o '[0-9.]*[0-9]')"
fi
if [[ $peers == *" cinch-etcd "* && -n $etcd ]]; then cinch_in_etcd; fi
