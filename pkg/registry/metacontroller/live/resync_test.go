// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// controllers has one controller.
type controllers struct{ name string }

func (c controllers) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if name != c.name {
		return nil, apierrors.NewNotFound(v1alpha1.Resource("compositecontrollers"), name)
	}
	return &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
}

func TestResyncRequests(t *testing.T) {
	all := v1alpha1.ResyncRequestSpec{Parents: &v1alpha1.ResyncParents{}}
	refused := func(context.Context, runtime.Object) error {
		return apierrors.NewForbidden(v1alpha1.Resource("compositecontrollers"), "web", nil)
	}
	tests := map[string]struct {
		spec     v1alpha1.ResyncRequestSpec
		name     string
		options  *metav1.CreateOptions
		validate func(context.Context, runtime.Object) error
		parents  int32
		paused   int32
		fails    error

		asked, onlyCount bool
		notes            []string
		is               func(error) bool
	}{
		"have parents synced":     {spec: all, parents: 3, asked: true},
		"count them in a dry run": {spec: all, parents: 3, options: &metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}, asked: true, onlyCount: true},
		"say when there are none": {spec: all, asked: true, notes: []string{"the running controller has no such parent"}},
		"say that one is paused": {spec: all, parents: 2, paused: 1, asked: true, notes: []string{
			"1 parent is paused, by its annotation metacontroller.k8s.io/paused or by the controller's spec.paused, and stays paused until you remove that",
		}},
		"say that some are paused": {spec: all, paused: 2, asked: true, notes: []string{
			"2 parents are paused, by their annotation metacontroller.k8s.io/paused or by the controller's spec.paused, and stay paused until you remove that",
		}},
		"that say nothing":         {is: apierrors.IsInvalid},
		"about another controller": {spec: all, name: "other", is: apierrors.IsNotFound},
		"that admission refuses":   {spec: all, validate: refused, is: apierrors.IsForbidden},
		"while no controllers run": {spec: all, fails: errors.New("they do not run"), asked: true, is: apierrors.IsServiceUnavailable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			asked, onlyCounted := false, false
			requester := func(_ context.Context, of v1alpha1.ControllerReference, spec *v1alpha1.ResyncRequestSpec, onlyCount bool) (v1alpha1.ResyncRequestStatus, error) {
				asked, onlyCounted = true, onlyCount
				if want := (v1alpha1.ControllerReference{Kind: "CompositeController", Name: "web"}); of != want || spec.Parents == nil {
					t.Errorf("asked for %v of %v", spec, of)
				}
				return v1alpha1.ResyncRequestStatus{Parents: test.parents, Paused: test.paused}, test.fails
			}
			of := test.name
			if of == "" {
				of = "web"
			}
			storage := NewResync("CompositeController", controllers{"web"}, requester).(rest.NamedCreater)
			answered, err := storage.Create(t.Context(), of, &v1alpha1.ResyncRequest{Spec: test.spec}, test.validate, test.options)
			if asked != test.asked || onlyCounted != test.onlyCount {
				t.Errorf("controllers are asked: %t, only to count: %t", asked, onlyCounted)
			}
			if test.is != nil {
				if !test.is(err) {
					t.Errorf("error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			status := answered.(*v1alpha1.ResyncRequest).Status
			if status.Parents != test.parents || status.Paused != test.paused || !slices.Equal(status.Notes, test.notes) {
				t.Errorf("answered %+v", status)
			}
		})
	}
}
