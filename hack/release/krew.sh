#!/usr/bin/env bash
# krew.sh FOLDER: print the manifest by which krew installs the plugin of kubectl, whose archives are in the folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. hack/release/source.sh

cat <<END
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: metacontroller
spec:
  version: $VERSION
  homepage: https://github.com/metacontroller/metacontroller-apiserver
  shortDescription: Preview, watch and test controllers that are hooks
  description: |
    Shows what controllers of metacontroller-apiserver do and would do: their parents with
    their children, the calls of their hooks, and what a changed hook or controller would
    write, before it happens. Begins new controllers, and tests hooks without a cluster.
  platforms:
END
for platform in {linux,darwin,windows}-{amd64,arm64}; do
  archive=kubectl-metacontroller-$VERSION-$platform.tar.gz
  cat <<END
  - selector:
      matchLabels: {os: ${platform%-*}, arch: ${platform#*-}}
    uri: https://github.com/metacontroller/metacontroller-apiserver/releases/download/$VERSION/$archive
    sha256: $(sha256sum "$1/$archive" | cut -d' ' -f1)
    bin: kubectl-metacontroller$([[ $platform == windows-* ]] && echo .exe || true)
END
done
