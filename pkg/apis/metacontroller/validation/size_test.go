// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// withPath returns a controller whose JSON has about size bytes.
func withPath(t *testing.T, size int) *v1alpha1.CompositeController {
	t.Helper()
	controller := decode[*v1alpha1.CompositeController](t, compositeController)
	url := "http://hooks.example/" + strings.Repeat("a", size)
	controller.Spec.Hooks.Sync.Webhook.URL = &url
	return controller
}

func TestObjectsThatTheStorageCannotTakeAreRefused(t *testing.T) {
	wantErrors(t, ValidateCompositeController(withPath(t, maxSize-10_000)))
	tooLarge := withPath(t, maxSize)
	errs := ValidateCompositeController(tooLarge)
	if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), "spec: Too long: the object has 1500") {
		t.Errorf("errors = %v, want one that tells the size", errs)
	}
	if errs := ValidateCompositeControllerUpdate(tooLarge, withPath(t, 1)); len(errs) != 1 {
		t.Errorf("growing too large gives the errors %v, want one", errs)
	}

	decorator := decode[*v1alpha1.DecoratorController](t, decoratorController)
	decorator.Annotations = map[string]string{"a": strings.Repeat("a", 200_000)}
	wantErrors(t, ValidateDecoratorController(decorator))
	decorator.Spec.Hooks.Sync.Webhook.URL = tooLarge.Spec.Hooks.Sync.Webhook.URL
	if errs := ValidateDecoratorController(decorator); len(errs) != 1 {
		t.Errorf("a large DecoratorController gives the errors %v, want one", errs)
	}
}

func TestAnObjectThatIsTooLargeCanBeChanged(t *testing.T) {
	stored := withPath(t, maxSize)
	updated := stored.DeepCopy()
	updated.Labels = map[string]string{"a": "b"}
	wantErrors(t, ValidateCompositeControllerUpdate(updated, stored))
}
