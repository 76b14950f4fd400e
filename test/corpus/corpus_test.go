// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/validation"
)

// decoder reads objects as the server does: with defaults.
func decoder(t testing.TB) runtime.Decoder {
	t.Helper()
	return serializer.NewCodecFactory(newScheme(t)).UniversalDecoder(v1alpha1.SchemeGroupVersion)
}

// validate returns the errors and warnings of validation.
func validate(object runtime.Object) (errs field.ErrorList, warnings []string) {
	switch object := object.(type) {
	case *v1alpha1.CompositeController:
		return validation.ValidateCompositeController(object), validation.CompositeControllerWarnings(object)
	case *v1alpha1.DecoratorController:
		return validation.ValidateDecoratorController(object), validation.DecoratorControllerWarnings(object)
	}
	return nil, nil
}

// read returns the object of a case as the server has it before it is validated.
func (c Case) read(t testing.TB, decoder runtime.Decoder) runtime.Object {
	t.Helper()
	text, err := c.Object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	object, err := runtime.Decode(decoder, text)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func texts(errs field.ErrorList) []string {
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return texts
}

func TestBrokenObjectsAreRefusedForAllThatIsWrong(t *testing.T) {
	decoder := decoder(t)
	cases := Refused(t)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			errs, _ := validate(c.read(t, decoder))
			if len(c.Errors) == 0 {
				t.Error("nothing is expected to be wrong")
			}
			if diff := cmp.Diff(c.Errors, texts(errs)); diff != "" {
				t.Errorf("errors differ (-want +got):\n%s", diff)
			}
		})
	}
	if len(cases) < 150 {
		t.Errorf("there are %d broken objects, want at least 150", len(cases))
	}
}

func TestOddObjectsAreAcceptedWithWarnings(t *testing.T) {
	decoder := decoder(t)
	for _, c := range Accepted(t) {
		t.Run(c.Name, func(t *testing.T) {
			errs, warnings := validate(c.read(t, decoder))
			if len(errs) > 0 {
				t.Errorf("refused: %v", errs)
			}
			if diff := cmp.Diff(c.Warnings, warnings); diff != "" {
				t.Errorf("warnings differ (-want +got):\n%s", diff)
			}
			for _, warning := range warnings {
				// Longer warnings are cut off if there are many.
				if len(warning) > 256 {
					t.Errorf("the warning has %d characters, want 256 at most: %s", len(warning), warning)
				}
			}
		})
	}
}

// tooLarge returns an object that is too large for the storage.
func tooLarge(t testing.TB) Case {
	t.Helper()
	c := Accepted(t)[0]
	rules := make([]any, 30_000)
	for i := range rules {
		rules[i] = map[string]any{"apiVersion": "v1", "resource": fmt.Sprintf("resources-%030d", i), "updateStrategy": map[string]any{"method": "InPlace"}}
	}
	if err := unstructured.SetNestedSlice(c.Object.Object, rules, "spec", "childResources"); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedStringSlice(c.Object.Object, []string{"shop"}, "spec", "namespaces"); err != nil {
		t.Fatal(err)
	}
	return c
}
