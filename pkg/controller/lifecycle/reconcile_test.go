// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestWhatIsNextAfterAWrite(t *testing.T) {
	resource, broken := schema.GroupResource{Resource: "compositecontrollers"}, errors.New("no")
	conflict := apierrors.NewConflict(resource, "a", broken)
	tests := map[string]struct {
		err     error
		done    bool
		failure error
	}{
		"it went well":                    {nil, true, nil},
		"the object changed meanwhile":    {conflict, false, nil},
		"the object went meanwhile":       {apierrors.NewNotFound(resource, "a"), false, nil},
		"the spec is too new":             {errSpecIsNew, false, nil},
		"it failed":                       {broken, false, broken},
		"there are more parents to drain": {&waitsForDrain{}, true, nil},
		"parents could not be drained":    {&waitsForDrain{failure: broken}, true, broken},
		"a parent changes all the time":   {&waitsForDrain{failure: conflict}, true, conflict},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if done, failure := resultOf(t.Context(), "a", test.err); done != test.done || !errors.Is(failure, test.failure) {
				t.Errorf("done %v, failure %v", done, failure)
			}
		})
	}
}

func TestAWriteThatTheEndCutsShortIsNoFailure(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	if done, failure := resultOf(ctx, "a", ctx.Err()); done || failure != nil {
		t.Errorf("done %v, failure %v", done, failure)
	}
}
