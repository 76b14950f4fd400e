#!/usr/bin/env bash
# check.sh: build a release twice, in copies of the repository in different folders, and check that both have the same
# bytes and what is in them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. hack/release/source.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for copy in one two/deeper; do
  mkdir -p "$work/$copy"
  git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$work/$copy"
  (umask "$([[ $copy == one ]] && echo 022 || echo 077)" && "$work/$copy/hack/release/release.sh" "$work/$copy/release")
done
diff -r "$work/one/release" "$work/two/deeper/release"

cd "$work/one/release"
fail() { echo "$*" >&2; exit 1; }
sha256sum --check --quiet SHA256SUMS
[[ $(ls | wc -l) == 26 ]] || fail "the release has not the files that are expected: $(ls)"
tar -xOf "metacontroller-apiserver-$VERSION-linux-$(go env GOARCH).tar.gz" metacontroller-apiserver >"$work/program"
chmod +x "$work/program"
[[ $("$work/program" --version) == "metacontroller-apiserver $VERSION ($COMMIT) $(go env GOVERSION) "* ]] || fail "the program says it is $("$work/program" --version)"
tar -xOf "kubectl-metacontroller-$VERSION-linux-$(go env GOARCH).tar.gz" kubectl-metacontroller >"$work/plugin"
chmod +x "$work/plugin"
[[ $("$work/plugin" version) == "kubectl-metacontroller $VERSION ($COMMIT) $(go env GOVERSION) "* ]] || fail "the plugin says it is $("$work/plugin" version)"
for archive in kubectl-metacontroller-*.tar.gz; do
  grep -q "uri: .*/$archive\$" "metacontroller-krew-$VERSION.yaml" || fail "the manifest for krew has no $archive"
  grep -q "sha256: $(sha256sum "$archive" | cut -d' ' -f1)\$" "metacontroller-krew-$VERSION.yaml" || fail "the manifest for krew has another checksum of $archive"
done
file="metacontroller-$VERSION.yaml"
[[ $(grep -c "image: metacontroller/metacontroller-apiserver:$VERSION$" "$file") == 1 ]] || fail "$file has another image"
cd "$OLDPWD"
go tool -modfile=hack/tools/helm/go.mod helm template "$work/one/release/metacontroller-${VERSION#v}.tgz" >"$work/chart.yaml"
grep -q "image: \"\?metacontroller/metacontroller-apiserver:$VERSION\"\?$" "$work/chart.yaml" || fail "the chart has another image"
