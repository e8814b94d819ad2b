#!/usr/bin/env bash
# An object store for trying things out: Ceph's gateway before a cluster of one mon and one OSD, from Debian.
#
#   examples/objects/ceph.sh PORT DIRECTORY [BUCKET]    the bucket is "cinch" if none is named
#
# Says "ready" when it takes requests on 127.0.0.1, and which variables lead there; Ctrl-C ends it.
# Its key and secret are known to everybody, and all objects are in memory: it is no place for data.
# DIRECTORY, which is new or empty, gets logs and the cluster's own state. A gateway that was killed is
# started again; DIRECTORY/radosgw.pid names it. Exit code 4 if something is missing, the port is taken, or
# a part of it did not start or ended.
set -euo pipefail
if [ $# -lt 2 ] || [ $# -gt 3 ]; then
  echo "usage: ceph.sh PORT DIRECTORY [BUCKET]" >&2
  exit 2
fi
port=$1 directory=$2 bucket=${3:-cinch}
case $port in
  '' | *[!0-9]* | 0* | ??????*) echo "ceph: $port is no port" >&2; exit 2 ;;
esac
case $bucket in
  *[!a-z0-9.-]* | ? | ??) echo "ceph: a bucket has three or more of a-z, 0-9, - and ., unlike $bucket" >&2; exit 2 ;;
esac
for tool in ceph-mon ceph-osd radosgw radosgw-admin ceph ceph-authtool curl; do
  command -v "$tool" >/dev/null || { echo "ceph: $tool is missing; Debian's packages ceph-mon, ceph-osd, radosgw and curl are needed" >&2; exit 4; }
done

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
if answers "$port"; then
  echo "ceph: somebody else has port $port" >&2
  exit 4
fi
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
if [ -n "$(ls -A "$directory")" ]; then
  echo "ceph: $directory is not empty; name a new one, since objects do not outlive the one that had them" >&2
  exit 4
fi
mon_port=$((20000 + RANDOM % 10000))
while answers $mon_port; do mon_port=$((mon_port + 1)); done

started=()
stop() { [ ${#started[@]} -eq 0 ] || kill -KILL "${started[@]}" 2>/dev/null || true; } # nothing of it is worth saving
trap stop EXIT
trap 'exit 130' INT TERM
cd "$directory"
begin() { # NAME COMMAND...
  local name=$1
  shift
  "$@" >>"$name.log" 2>&1 </dev/null &
  started+=($!)
}
must() { # NAME COMMAND...: waits for it in a way that lets signals through
  begin "$@"
  wait "${started[-1]}" || { echo "ceph: $1 failed; $directory/$1.log says why" >&2; exit 4; }
  unset 'started[-1]'
}

mkdir mon osd
cat >ceph.conf <<C
[global]
fsid = $(cat /proc/sys/kernel/random/uuid)
mon host = [v2:127.0.0.1:$mon_port]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
keyring = $directory/keyring
admin socket =
run dir = $directory
log file =
log to stderr = true
mon cluster log file =
debug mon = 0
debug osd = 0
debug paxos = 0
debug rocksdb = 0
debug rgw = 0
paxos propose interval = 0.05
paxos min wait = 0.01
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 4294967296
osd data = $directory/osd
mon data = $directory/mon
C
export CEPH_CONF=$directory/ceph.conf
(umask 077 && : >keyring)
must keys ceph-authtool keyring --gen-key -n mon. --cap mon 'allow *'
must keys ceph-authtool keyring --gen-key -n client.admin --cap mon 'allow *'
must keys ceph-authtool keyring --gen-key -n osd.0 --cap mon 'allow profile osd' --cap osd 'allow *'
must keys ceph-authtool keyring --gen-key -n client.gateway --cap mon 'allow rw' --cap osd 'allow rwx'
must mon ceph-mon --mkfs -i a --keyring keyring --public-addrv "v2:127.0.0.1:$mon_port"
begin mon ceph-mon -f -i a --public-addrv "v2:127.0.0.1:$mon_port"
mon=${started[-1]}
osd_id=$(cat /proc/sys/kernel/random/uuid)
must osd timeout 60 ceph osd new "$osd_id" 0
must osd ceph-osd --mkfs -i 0 --osd-uuid "$osd_id"
begin osd ceph-osd -f -i 0
osd=${started[-1]}
must user timeout 120 radosgw-admin -n client.gateway user create --uid=cinch --display-name=cinch --access-key=local-identity --secret=local-credential

# Without tcp_nodelay each answer on a connection that was used before takes 40 ms.
while :; do
  begin radosgw radosgw -f -n client.gateway --rgw-frontends "beast endpoint=127.0.0.1:$port tcp_nodelay=1"
  gateway=${started[-1]}
  echo "$gateway" >radosgw.pid
  until answers "$port"; do
    kill -0 "$gateway" 2>/dev/null || { echo "ceph: radosgw did not start; $directory/radosgw.log says why" >&2; exit 4; }
    sleep 0.2
  done
  # The header is what curl before 8 does not sign by itself: a digest of nothing.
  must bucket curl -sS --fail -X PUT --aws-sigv4 aws:amz:us-east-1:s3 -u local-identity:local-credential \
    -H "x-amz-content-sha256: $(printf '' | sha256sum | cut -d ' ' -f 1)" "http://127.0.0.1:$port/$bucket"
  echo "ready: export AWS_ACCESS_KEY_ID=local-identity AWS_SECRET_ACCESS_KEY=local-credential AWS_ENDPOINT_URL_S3=http://127.0.0.1:$port"
  code=0 # of whichever ends first
  wait -n "$mon" "$osd" "$gateway" || code=$?
  for part in mon osd; do
    kill -0 "${!part}" 2>/dev/null || { echo "ceph: $part ended with $code; $directory/$part.log says why" >&2; exit 4; }
  done
  started=("$mon" "$osd")
done
