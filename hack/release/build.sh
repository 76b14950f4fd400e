#!/usr/bin/env bash
# build.sh PROGRAM OS-ARCH FOLDER: build a program for a platform, static, without symbols and with the same bytes on any
# machine, and list what it is made of in FOLDER/PROGRAM.cdx.json, in the form of CycloneDX.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. hack/release/source.sh

package=github.com/metacontroller/metacontroller-apiserver/pkg/version
mkdir -p "$3"
out=$(cd "$3" && pwd)/$1
program=$out$([[ $2 == windows-* ]] && echo .exe || true)
CGO_ENABLED=0 GOOS=${2%-*} GOARCH=${2#*-} GOFLAGS=-buildvcs=false go build -trimpath \
  -ldflags "-s -w -X $package.gitVersion=$VERSION -X $package.gitCommit=$COMMIT" -o "$program" "./cmd/$1"
cd hack/image
if ! said=$(go tool cyclonedx-gomod bin -json -std -noserial -notimestamp -version "$VERSION" -output "$out.cdx.json" "$program" 2>&1); then
  echo "$said" >&2
  exit 1
fi
