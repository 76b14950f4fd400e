// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestAnErrorListsItsReasonsInTheSameOrder(t *testing.T) {
	invalid := func(fields ...string) error {
		var all field.ErrorList
		for _, name := range fields {
			all = append(all, field.Invalid(field.NewPath(name), "x", "is wrong, see [docs]"))
		}
		return apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "a", all)
	}
	for name, test := range map[string]struct {
		a, b error
		want string
	}{
		"lines of a schema": {
			errors.New("failed to create typed patch object: errors:\n  .spec.b: duplicate\n  .spec.a: duplicate"),
			errors.New("failed to create typed patch object: errors:\n  .spec.a: duplicate\n  .spec.b: duplicate"),
			"failed to create typed patch object: errors:\n  .spec.a: duplicate\n  .spec.b: duplicate",
		},
		"what follows the lines": {
			errors.New("errors:\n  b\n  a\nz\ny"), errors.New("errors:\n  a\n  b\nz\ny"), "errors:\n  a\n  b\nz\ny",
		},
		"causes": {
			invalid("b", "a"), invalid("a", "b"),
			`Deployment.apps "a" is invalid: [a: Invalid value: "x": is wrong, see [docs], ` +
				`b: Invalid value: "x": is wrong, see [docs]]`,
		},
		"other lines":  {errors.New("b\n  z\n  a"), errors.New("b\n  z\n  a"), "b\n  z\n  a"},
		"other errors": {errors.New("one"), errors.New("one"), "one"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := inStableOrder(test.a), inStableOrder(test.b)
			if a.Error() != test.want || b.Error() != test.want {
				t.Errorf("the texts are\n%s\n%s\nwant\n%s", a, b, test.want)
			}
			if !errors.Is(a, test.a) || apierrors.IsInvalid(a) != apierrors.IsInvalid(test.a) {
				t.Error("the error has become another one")
			}
		})
	}
}
