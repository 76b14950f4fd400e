#!/usr/bin/env bash
# Copyright The metacontroller-apiserver Authors.
# SPDX-License-Identifier: Apache-2.0

# Writes everything that is generated from the API types: zz_generated.* beside them, and
# pkg/generated. The tree may be in any folder. The generators are installed in a temporary folder,
# which is removed at the end.

set -o errexit -o nounset -o pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
module=github.com/metacontroller/metacontroller-apiserver
boilerplate="${root}/hack/boilerplate.go.txt"

cd "${root}"

scratch="$(mktemp -d)"
trap 'rm -rf "${scratch}"' EXIT
export GOBIN="${scratch}/bin"
export GOFLAGS="-mod=readonly -buildvcs=false"
export GOWORK=off

go mod download k8s.io/code-generator
# shellcheck source=/dev/null
source "$(go list -m -f '{{.Dir}}' k8s.io/code-generator)/kube_codegen.sh"

kube::codegen::gen_helpers \
  --boilerplate "${boilerplate}" \
  "${root}/pkg/apis"

# The report lists violations of API conventions, such as Go names that differ from the JSON names.
# It contains one of our names, because the JSON of Metacontroller requires it. The report is in the
# repository so that verify-codegen.sh shows any new violation.
kube::codegen::gen_openapi \
  --output-dir "${root}/pkg/generated/openapi" \
  --output-pkg "${module}/pkg/generated/openapi" \
  --output-model-name-file zz_generated.model_name.go \
  --extra-pkgs k8s.io/apimachinery/pkg/util/intstr \
  --report-filename "${root}/hack/api-violations.txt" \
  --update-report \
  --boilerplate "${boilerplate}" \
  "${root}/pkg/apis"

# The apply configurations need the OpenAPI schema to know which lists are maps, and by which keys. Their generator names
# types by the Go package; the fake clientset asks for the names of +k8s:openapi-model-package.
go_models=com.github.metacontroller.metacontroller-apiserver.pkg.apis.metacontroller.v1alpha1.
api_models="$(sed -n 's|^// +k8s:openapi-model-package=||p' pkg/apis/metacontroller/v1alpha1/doc.go)."
go run "${module}/hack/models-schema" "${go_models}" > "${scratch}/schema.json"

mkdir -p "${root}"/pkg/generated/{applyconfiguration,clientset,informers,listers}
kube::codegen::gen_client \
  --with-watch \
  --with-applyconfig \
  --applyconfig-openapi-schema "${scratch}/schema.json" \
  --output-dir "${root}/pkg/generated" \
  --output-pkg "${module}/pkg/generated" \
  --boilerplate "${boilerplate}" \
  "${root}/pkg/apis"

grep -rlF "${go_models}" "${root}/pkg/generated/applyconfiguration" | xargs sed -i.bak "s|${go_models//./\\.}|${api_models}|g"
find "${root}/pkg/generated/applyconfiguration" -name '*.bak' -delete
