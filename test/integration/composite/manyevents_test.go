// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// While a hook is being developed, one error follows the other, and each is seen.
func TestFortyErrorsInARowAreSeen(t *testing.T) {
	t.Parallel()
	// The hook wants a child of a kind that the parent names, and the controller declares no such kind.
	f := start(t, answers(t, func(asked request) object {
		kind, _, _ := unstructured.NestedString(asked.Parent.Object, "spec", "value")
		return object{"children": []object{{"apiVersion": "v1", "kind": kind, "metadata": object{"name": "c"}}}}
	}))
	want := func(kind string) {
		f.Helper()
		f.PatchParent("a", object{"spec": object{"value": kind}})
		f.waitForCall("/sync", "a", func(parent *unstructured.Unstructured) bool {
			asked, _, _ := unstructured.NestedString(parent.Object, "spec", "value")
			return asked == kind
		})
	}
	f.CreateParent("a", object{"value": "First"})
	const errors = 40
	kinds := make([]string, errors)
	for i := range kinds {
		kinds[i] = fmt.Sprintf("Shelf%c%c", 'A'+i/10, 'A'+i%10)
		want(kinds[i])
		env.WaitForEvent(t, f.Namespace, "a", "SyncError", kinds[i])
	}
	described := env.Kubectl(t, "describe", f.Parents.GroupResource().String(), "-n", f.Namespace, "a")
	for _, kind := range kinds {
		if !strings.Contains(described, kind) {
			t.Errorf("kubectl describe does not show the error about %s", kind)
		}
	}

	// A message that changes its numbers is one message, and does not hide the next one.
	for i := range errors {
		want(fmt.Sprint("Number", i))
	}
	want("Last")
	env.WaitForEvent(t, f.Namespace, "a", "SyncError", "Last")
	if events := f.eventsAbout("a", "SyncError"); len(events) > errors+2+10 {
		t.Errorf("there are %d events about the parent, want ten at most about the message that changes its numbers", len(events))
	}
}
