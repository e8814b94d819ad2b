# shellcheck shell=bash disable=SC2034,SC2154 # addresses, work and others are those of leases.sh
# Of leases.sh: one server of each service.
cli/bin/cinch init "$work/store" >/dev/null
start cinch cli/bin/cinch serve --store "$work/store" --key "$work/cinch.key" --port 0
await cinch grep -qs 'http://' "$work/cinch.out"
addresses+=("cinch=$(grep -o 'http://[0-9.:]*' "$work/cinch.out" | sed -n 1p)")
if wanted etcd etcd; then
  read -r port peer < <(free_ports 2)
  start etcd etcd --data-dir "$work/etcd" --log-outputs stderr --logger zap \
    --listen-client-urls "http://127.0.0.1:$port" --advertise-client-urls "http://127.0.0.1:$port" \
    --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
    --initial-cluster "default=http://127.0.0.1:$peer"
  await etcd answers "$port"
  addresses+=("etcd=http://127.0.0.1:$port")
  versions+=", $(etcd --version | sed -n 1p)"
fi
if wanted zookeeper java; then
  port=$(free_ports 1)
  printf '%s\n' "dataDir=$work/zookeeper" "clientPort=$port" clientPortAddress=127.0.0.1 maxClientCnxns=0 \
    admin.enableServer=false >"$work/zoo.cfg"
  start zookeeper java -Xmx1g -cp "$libraries" org.apache.zookeeper.server.ZooKeeperServerMain "$work/zoo.cfg"
  await zookeeper answers "$port"
  addresses+=("zookeeper=127.0.0.1:$port")
  versions+=", ZooKeeper $(grep -o 'zookeeper-[0-9.]*[0-9]\.jar' <<<"$libraries" | grep -o '[0-9.]*[0-9]')"
fi
if wanted redis redis-server; then
  port=$(free_ports 1)
  start redis redis-server --bind 127.0.0.1 --port "$port" --dir "$work" --save "" --appendonly no
  await redis answers "$port"
  addresses+=("redis=redis://127.0.0.1:$port")
  versions+=", Redis $(redis-server --version | grep -o 'v=[0-9.]*' | cut -c3-)"
fi
