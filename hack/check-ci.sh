#!/usr/bin/env bash
# Fails if a step of .ci/run is missing in the workflow that checks changes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
failed=0
while read -r target; do
  if ! grep -qE "^ +- run: make $target\$" .github/workflows/ci.yml; then
    echo ".github/workflows/ci.yml does not run make $target, as .ci/run does: add it"
    failed=1
  fi
done < <(sed -nE 's/^(step |nice -n [0-9]+ )?make ([a-z0-9-]+)( .*)?$/\2/p' .ci/run)
exit "$failed"
