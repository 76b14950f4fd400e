// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Check checks an object. The error says what is wrong.
type Check func(*unstructured.Unstructured) error

// Has checks that a field has a value; fields are named with dots between them.
func Has(path string, want any) Check {
	return func(object *unstructured.Unstructured) error {
		got, _, err := unstructured.NestedFieldNoCopy(object.Object, strings.Split(path, ".")...)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("%s of %s %s is %v, want %v", path, object.GetKind(), object.GetName(), got, want)
		}
		return nil
	}
}

// HasItems checks what a field is in each item of a list, in their order.
func HasItems(path, field string, want ...any) Check {
	return func(object *unstructured.Unstructured) error {
		items, _, err := unstructured.NestedSlice(object.Object, strings.Split(path, ".")...)
		if err != nil {
			return err
		}
		got := make([]any, len(items))
		for i, item := range items {
			got[i] = item.(Object)[field]
		}
		if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("%s of the items of %s of %s %s is %v, want %v", field, path, object.GetKind(), object.GetName(), got, want)
		}
		return nil
	}
}

// Exists waits until an object is there and all checks hold.
func (s *Scenario) Exists(of Ref, checks ...Check) *unstructured.Unstructured {
	s.Helper()
	var found *unstructured.Unstructured
	s.Env.Eventually(s, func(ctx context.Context) (err error) {
		if found, err = s.Get(ctx, of); err != nil {
			return err
		}
		for _, check := range checks {
			if err := check(found); err != nil {
				return err
			}
		}
		return nil
	})
	return found
}

// Gone waits until an object is not there.
func (s *Scenario) Gone(of Ref) {
	s.Helper()
	s.Env.Eventually(s, s.isGone(of))
}

// Collected is Gone for objects that the host's garbage collector deletes. The collector learns of
// a new type of owners within half a minute, and retries with growing delays until then.
func (s *Scenario) Collected(of Ref) {
	s.Helper()
	s.Env.Within(s, 3*time.Minute, s.isGone(of))
}

func (s *Scenario) isGone(of Ref) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := s.Get(ctx, of)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("%s should be gone: %w", of, err)
	}
}

// Absent fails the test if an object is there now. Call it only after something has shown that the
// object could have been created.
func (s *Scenario) Absent(of Ref) {
	s.Helper()
	if _, err := s.Get(s.Context(), of); !apierrors.IsNotFound(err) {
		s.Errorf("%s should not be there: %v", of, err)
	}
}

// Event waits for an event about an object whose message contains a text. Events about
// cluster-scoped objects are in the namespace default.
func (s *Scenario) Event(about Ref, reason, text string) corev1.Event {
	s.Helper()
	namespace := s.Text(about.Namespace)
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return s.Env.WaitForEvent(s, namespace, s.Text(about.Name), reason, s.Text(text))
}

// Called waits until the hook has been called at a path so many times.
func (s *Scenario) Called(path string, times int) {
	s.Helper()
	s.Env.Eventually(s, func(context.Context) error {
		if calls := s.Calls(path); calls < times {
			return fmt.Errorf("the hook %s was called %d times, want %d", path, calls, times)
		}
		return nil
	})
}

// Settle waits until the hook was sent an object as it is now and the sync of it is over. It
// annotates the object for that.
func (s *Scenario) Settle(of Ref) {
	s.Helper()
	s.Env.Settle(s, func(mark string) { s.Patch(of, "{metadata: {annotations: {touched: "+mark+"}}}") }, s.Hook)
}

// Calls counts the calls of the hook at a path.
func (s *Scenario) Calls(path string) int {
	calls := 0
	for _, call := range s.Hook.Calls() {
		if call.Path == path {
			calls++
		}
	}
	return calls
}
