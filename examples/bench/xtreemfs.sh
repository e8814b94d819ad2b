#!/usr/bin/env bash
# Compiles the Flease of XtreemFS, and what it needs, for cell-peers.sh. Usage: xtreemfs.sh CHECKOUT DIRECTORY
# CHECKOUT: XtreemFS's source, xtreemfs/xtreemfs on GitHub, of the New BSD licence (its file LICENSE). Nothing there is changed, and nothing
# of it is part of Cinch. DIRECTORY: where the classes go; set CINCH_BENCH_XTREEMFS to it. Protocol Buffers and Commons Codec come from Maven.
set -euo pipefail
checkout=${1:?the directory of the source of XtreemFS}
classes=${2:?a directory for its classes}
sources=$checkout/java/xtreemfs-foundation/src/main/java:$checkout/java/xtreemfs-flease/src/main/java
flease=$checkout/java/xtreemfs-flease/src/main/java/org/xtreemfs/foundation/flease/FleaseStage.java
if [ ! -f "$flease" ]; then
  echo "xtreemfs: no $flease: name a checkout of XtreemFS" >&2
  exit 2
fi
processor=$(uname -m)
protobuf=3.25.5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lib" "$work/generated" "$classes"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." # Cinch's build names the version of the plugin
for artifact in "com.google.protobuf:protoc:$protobuf:exe:linux-${processor/aarch64/aarch_64}" \
  "com.google.protobuf:protobuf-java:$protobuf" commons-codec:commons-codec:1.3; do
  mvn -B -q -N dependency:copy -Dartifact="$artifact" -DoutputDirectory="$work/lib"
done
cd - >/dev/null
chmod +x "$work"/lib/protoc-*
"$work"/lib/protoc-* -I"$checkout/interface/pbrpc" --java_out="$work/generated" "$checkout/interface/pbrpc/RPC.proto"
javac -nowarn -proc:none -XDsuppressNotes -Xlint:none -encoding UTF-8 -cp "$work/lib/*" -sourcepath "$work/generated:$sources" -d "$classes" "$flease"
echo "CINCH_BENCH_XTREEMFS=$(cd "$classes" && pwd)"
