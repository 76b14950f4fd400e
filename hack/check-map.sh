#!/usr/bin/env bash
# Fails if docs/architecture.md, the map of the code, and the tree differ: each Go package has to be
# on the map, and each path that the map names has to exist.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
map=docs/architecture.md

packages() {
  git ls-files --cached --others --exclude-standard -- 'cmd/*.go' 'pkg/*.go' 'test/*.go' 'hack/*.go' |
    while read -r file; do [[ -e $file ]] && dirname "$file"; done |
    sed 's|^pkg/generated/.*|pkg/generated|' | sort -u
}

# What the map names in backquotes and begins like a path of the tree; a trailing slash does not count.
named() {
  grep -oE '`(\.ci|cmd|pkg|test|hack|docs|artifacts)/[^` ]*`' "$map" | tr -d '`' | sed 's|/$||' | sort -u
}

failed=0
while read -r package; do
  echo "$map does not have the package $package: add a row for it"
  failed=1
done < <(comm -23 <(packages) <(named))
while read -r path; do
  if [[ ! -e $path ]]; then
    echo "$map names $path, which does not exist: correct or remove it"
    failed=1
  fi
done < <(named)
exit "$failed"
