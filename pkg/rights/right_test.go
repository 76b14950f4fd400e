// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRulesMergeWhatNeedsTheSameVerbs(t *testing.T) {
	missing := require("get,list pods", "get,list services", "get nodes")
	status := require("update pods")
	status[0].Subresource = "status"
	secrets := require("get secrets", "get secrets")
	secrets[0].Namespace, secrets[0].Name = "keys", "one"
	secrets[1].Namespace, secrets[1].Name = "keys", "two"
	want := `# missing permissions in a ClusterRole:
rules:
- apiGroups: [""] # for spec.pods, spec.services
  resources: ["pods", "services"]
  verbs: ["get", "list"]
- apiGroups: [""] # for spec.nodes
  resources: ["nodes"]
  verbs: ["get"]
- apiGroups: [""] # for spec.pods
  resources: ["pods/status"]
  verbs: ["update"]
# missing permissions in a Role of namespace "keys":
rules:
- apiGroups: [""] # for spec.secrets
  resources: ["secrets"]
  resourceNames: ["one", "two"]
  verbs: ["get"]
`
	all := append(append(missing, status...), secrets...)
	if diff := cmp.Diff(want, Rules(all)); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}
