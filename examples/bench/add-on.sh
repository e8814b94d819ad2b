# shellcheck shell=bash
# For scripts that source it, in the checkout's root: add_on DIRECTORY copies the add-on that docs/operating.md names there, for this processor.
add_on() {
  local processor version
  processor=$(uname -m)
  version=$(sed -n 's,.*<corretto.version>\(.*\)</corretto.version>.*,\1,p' pom.xml)
  mvn -B -q -N dependency:copy -DoutputDirectory="$PWD/$1" \
    -Dartifact="software.amazon.cryptools:AmazonCorrettoCryptoProvider:$version:jar:linux-${processor/aarch64/aarch_64}"
}
