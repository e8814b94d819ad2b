#!/usr/bin/env bash
# An object store for trying things out: s3proxy keeps objects as files of a directory.
#
#   examples/objects/s3proxy.sh PORT DIRECTORY [BUCKET]    the bucket is "cinch" if none is named
#
# Says "ready" when it takes requests on 127.0.0.1, and which variables lead there; Ctrl-C ends it.
# Its key and secret are known to everybody: it is no place for data. Maven gets s3proxy and what
# that needs the first time, into examples/objects/target. Exit code 4 if something is
# missing or the port is taken.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ $# -lt 2 ] || [ $# -gt 3 ]; then
  echo "usage: s3proxy.sh PORT DIRECTORY [BUCKET]" >&2
  exit 2
fi
port=$1 directory=$2 bucket=${3:-cinch}
case $port in
  '' | *[!0-9]* | 0* | ??????*) echo "s3proxy: $port is no port" >&2; exit 2 ;;
esac
case $bucket in
  *[!a-z0-9.-]* | ? | ??) echo "s3proxy: a bucket has three or more of a-z, 0-9, - and ., unlike $bucket" >&2; exit 2 ;;
esac
for tool in java mvn; do
  command -v "$tool" >/dev/null || { echo "s3proxy: $tool is needed (a JDK 17 and Maven)" >&2; exit 4; }
done

jars=$here/target/jars
if [ ! -e "$jars/complete" ]; then
  mkdir -p "$jars"
  log=$here/target/maven.log
  (cd "$here" && mvn -B -f s3proxy.xml dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$jars" >"$log" 2>&1 </dev/null) ||
    { echo "s3proxy: Maven did not get it; $log says why" >&2; exit 4; }
  touch "$jars/complete"
fi

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }
if answers; then
  echo "s3proxy: somebody else has port $port" >&2
  exit 4
fi
(umask 077 && mkdir -p "$directory/$bucket") # or s3proxy lets everybody read
directory=$(cd "$directory" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/cinch-s3proxy.XXXXXX")
server=
stop() { [ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"; }
trap stop EXIT
trap 'exit 130' INT TERM
cat >"$work/s3proxy.conf" <<C
s3proxy.endpoint=http://127.0.0.1:$port
s3proxy.authorization=aws-v2-or-v4
s3proxy.identity=local-identity
s3proxy.credential=local-credential
s3proxy.v4-max-non-chunked-request-size=1073741824
jclouds.provider=filesystem-nio2
jclouds.identity=x
jclouds.credential=x
jclouds.filesystem.basedir=$directory
C
cat >"$work/logback.xml" <<C
<configuration>
  <appender name="STDERR" class="ch.qos.logback.core.ConsoleAppender">
    <target>System.err</target>
    <encoder><pattern>%d{HH:mm:ss} %-5level %logger{0}: %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="STDERR"/></root>
</configuration>
C
java -cp "$work:$jars/*" org.gaul.s3proxy.Main --properties "$work/s3proxy.conf" &
server=$!
until answers; do
  kill -0 "$server" 2>/dev/null || { echo "s3proxy: it did not start" >&2; exit 4; }
  sleep 0.2
done
echo "ready: export AWS_ACCESS_KEY_ID=local-identity AWS_SECRET_ACCESS_KEY=local-credential AWS_ENDPOINT_URL_S3=http://127.0.0.1:$port"
wait "$server"
