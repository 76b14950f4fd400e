// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/warning"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// What would be refused is a warning, and what follows in spite of that is said, too.
func TestAdviceWarnsOfWhatWouldBeRefused(t *testing.T) {
	denied := hookaddress.DeniedByDefault()
	host := &fakeHost{served: map[string][]string{"v1": {"pods"}}}
	advice := NewAdvice(host.asHost(), NewHookAddresses(denied), NewServiceAccounts(true), NewWarnings(parentIndex(t, nil), HookResolver{Denied: denied}))
	controller := composed(func(spec *metacontroller.CompositeControllerSpec) {
		spec.Hooks.Sync = hookAt("http://169.254.169.254/sync")
	})
	controller.Name = "pages"
	var got recorder
	advice.Give(warning.WithWarningRecorder(t.Context(), &got), v1alpha1.SchemeGroupVersion.WithKind("CompositeController"), "pages", controller)
	want := []string{
		"it would be refused if spec was changed: spec.hooks.sync.webhook.url: Forbidden: hooks must not have the address 169.254.169.254: the server denies 169.254.0.0/16 (--hook-deny-cidrs)",
		"it would be refused if spec was changed: spec.serviceAccount: Required value: is the ServiceAccount that the controller acts as, and the server requires one (--require-service-account)",
		`spec.parentResource: the cluster does not serve "pages" in example.com/v1 yet; the controller starts as soon as it does`,
	}
	if diff := cmp.Diff(want, []string(got)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
