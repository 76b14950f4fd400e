#!/usr/bin/env bash
# Copyright The metacontroller-apiserver Authors.
# SPDX-License-Identifier: Apache-2.0

# Fails and shows the difference if the generated code in the tree is not what update-codegen.sh
# would write. It generates in a copy, so the tree stays as it is.

set -o errexit -o nounset -o pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
cd "${root}"

copy="$(mktemp -d)"
trap 'rm -rf "${copy}"' EXIT
inputs=(go.mod go.sum hack/update-codegen.sh hack/boilerplate.go.txt hack/models-schema pkg/hookaddress)
outputs=(hack/api-violations.txt pkg/apis pkg/generated)
tar -c "${inputs[@]}" "${outputs[@]}" | tar -x -C "${copy}"

"${copy}/hack/update-codegen.sh"

drift=0
for output in "${outputs[@]}"; do
  diff -Naupr "${output}" "${copy}/${output}" || drift=1
done
if [[ "${drift}" -ne 0 ]]; then
  echo "Generated code is out of date: run hack/update-codegen.sh (make generate) and commit the result." >&2
  exit 1
fi
echo "Generated code is up to date."
