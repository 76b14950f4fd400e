#!/usr/bin/env bash
# image.sh FOLDER: pack the program for linux on amd64 and arm64 as FOLDER/metacontroller-apiserver-image.tar, an OCI
# archive. What was built is left in FOLDER/linux-amd64 and FOLDER/linux-arm64.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. hack/release/source.sh

mkdir -p "$1"
out=$(cd "$1" && pwd)
printf '%s\n' linux-{amd64,arm64} |
  xargs -P "$(nproc)" -I PLATFORM hack/release/build.sh metacontroller-apiserver PLATFORM "$out/PLATFORM"
cd hack/image
go run . -version "$VERSION" -revision "$COMMIT" -created "$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)" \
  -output "$out/metacontroller-apiserver-image.tar" "$out"/linux-{amd64,arm64}/metacontroller-apiserver
