// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// waitUntilChildrenAreShown waits until a call of the hook showed all of these children as they are here, or as they
// became later: the controller has seen them then. Each type comes by a watch of its own, and a change of the
// parent that was made later may come before.
func (f *fixture) waitUntilChildrenAreShown(children ...unstructured.Unstructured) {
	f.Helper()
	env.Eventually(f, func(context.Context) error {
		var missing []string
		for _, call := range slices.Backward(f.Hook.Calls()) {
			var asked request
			if err := call.Decode(&asked); err != nil {
				return err
			}
			if missing = notShown(&asked, children); len(missing) == 0 {
				return nil
			}
		}
		return fmt.Errorf("no call of the hook has shown %q as they are", missing)
	})
}

// notShown are the names of the children that a request does not show, or not as they are here.
func notShown(asked *request, children []unstructured.Unstructured) (missing []string) {
	shown := map[types.UID]string{}
	for _, group := range asked.Children {
		for _, content := range group {
			child := unstructured.Unstructured{Object: content}
			shown[child.GetUID()] = child.GetResourceVersion()
		}
	}
	for _, child := range children {
		order, err := resourceversion.CompareResourceVersion(shown[child.GetUID()], child.GetResourceVersion())
		if err != nil || order < 0 { // an error if it is not shown at all
			missing = append(missing, child.GetName())
		}
	}
	return missing
}
