// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// The policy of the overlay for tenants and the server deny the same networks by default. That of the
// chart is compared with the overlay's elsewhere.
func TestThePolicyOfTenantsDeniesWhatTheServerDenies(t *testing.T) {
	file := filepath.Join(hostcluster.RepositoryRoot(), "artifacts/deploy/components/tenants/networkpolicy.yaml")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var policy networkingv1.NetworkPolicy
	if err := yaml.UnmarshalStrict(content, &policy); err != nil {
		t.Fatal(err)
	}
	var denied []string
	for _, rule := range policy.Spec.Egress {
		for _, peer := range rule.To {
			if peer.IPBlock != nil {
				denied = append(denied, peer.IPBlock.Except...)
			}
		}
	}
	want := hookaddress.DeniedByDefault().Strings()
	slices.Sort(want)
	slices.Sort(denied)
	if diff := cmp.Diff(want, denied); diff != "" {
		t.Errorf("denied networks (-server +policy):\n%s", diff)
	}
}
