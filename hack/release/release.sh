#!/usr/bin/env bash
# release.sh FOLDER: put all files of a release into an empty folder: the program for each platform, the image, the plugin
# of kubectl for each platform and its manifest for krew, the manifests, the chart, what all of it is made of, and
# checksums. The same commit gives the same bytes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. hack/release/source.sh

name=metacontroller-apiserver
mkdir -p "$1"
out=$(cd "$1" && pwd)
if [[ -n "$(ls -A "$out")" ]]; then
  echo "The folder $out is not empty." >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# pack FILE FOLDER PATH... packs paths of a folder with nothing in the archive that depends on the machine.
pack() {
  tar -C "$2" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    -cf - "${@:3}" | gzip -n >"$1"
}

packing=()
hack/release/image.sh "$work"
mv "$work/$name-image.tar" "$out/$name-$VERSION-image.tar"
printf '%s\n' darwin-{amd64,arm64} |
  xargs -P "$(nproc)" -I PLATFORM hack/release/build.sh $name PLATFORM "$work/PLATFORM"
for platform in {linux,darwin}-{amd64,arm64}; do
  mv "$work/$platform/$name.cdx.json" "$out/$name-$VERSION-$platform.cdx.json"
  cp LICENSE README.md CHANGELOG.md "$work/$platform/"
  pack "$out/$name-$VERSION-$platform.tar.gz" "$work/$platform" CHANGELOG.md LICENSE README.md $name &
  packing+=($!)
done

plugin=kubectl-metacontroller
printf '%s\n' {linux,darwin,windows}-{amd64,arm64} |
  xargs -P "$(nproc)" -I PLATFORM hack/release/build.sh $plugin PLATFORM "$work/plugin-PLATFORM"
for platform in {linux,darwin,windows}-{amd64,arm64}; do
  mv "$work/plugin-$platform/$plugin.cdx.json" "$out/$plugin-$VERSION-$platform.cdx.json"
  cp LICENSE "$work/plugin-$platform/"
  [[ $platform == windows-* ]] || cp cmd/$plugin/kubectl_complete-metacontroller "$work/plugin-$platform/"
  # shellcheck disable=SC2046 # the names have no spaces
  pack "$out/$plugin-$VERSION-$platform.tar.gz" "$work/plugin-$platform" $(cd "$work/plugin-$platform" && ls) &
  packing+=($!)
done
for pid in "${packing[@]}"; do wait "$pid"; done
hack/release/krew.sh "$out" >"$out/metacontroller-krew-$VERSION.yaml"

sed "s|image: metacontroller/$name:latest|image: metacontroller/$name:$VERSION|" artifacts/deploy/metacontroller.yaml >"$out/metacontroller-$VERSION.yaml"
grep -q "image: metacontroller/$name:$VERSION" "$out/metacontroller-$VERSION.yaml"
cp -r artifacts/deploy artifacts/monitoring "$work/"
sed -i "s|image: metacontroller/$name:latest|image: metacontroller/$name:$VERSION|" "$work"/deploy/base/*.yaml
cp "$out/metacontroller-$VERSION.yaml" "$work/deploy/metacontroller.yaml"
pack "$out/metacontroller-$VERSION-kustomize.tar.gz" "$work" deploy monitoring

# Helm checks the chart and writes the version into it. Its archive has the time of its making.
go tool -modfile=hack/tools/helm/go.mod helm package --version "${VERSION#v}" --app-version "$VERSION" --destination "$work" \
  artifacts/charts/metacontroller >/dev/null
mkdir "$work/chart"
tar -C "$work/chart" -xf "$work/metacontroller-${VERSION#v}.tgz"
pack "$out/metacontroller-${VERSION#v}.tgz" "$work/chart" metacontroller

cd "$out"
sha256sum -- * >"$work/SHA256SUMS"
mv "$work/SHA256SUMS" .
