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

// waitUntilChildrenAreSent waits until a request had all of these children in these or later
// versions. The controller has observed them then. Each type has its own watch, so a later change
// of the parent does not show that.
func (f *fixture) waitUntilChildrenAreSent(children ...unstructured.Unstructured) {
	f.Helper()
	env.Eventually(f, func(context.Context) error {
		var missing []string
		for _, call := range slices.Backward(f.Hook.Calls()) {
			var asked request
			if err := call.Decode(&asked); err != nil {
				return err
			}
			if missing = missingFrom(&asked, children); len(missing) == 0 {
				return nil
			}
		}
		return fmt.Errorf("no call of the hook has shown %q as they are", missing)
	})
}

// missingFrom returns the names of the children that a request does not have, or only in older
// versions.
func missingFrom(asked *request, children []unstructured.Unstructured) (missing []string) {
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
