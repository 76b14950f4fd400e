// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What somebody should look at is said, and stands in nobody's way.
func TestWhatCheckSays(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b"} { // both have the same parents
		env.Apply(t, fmt.Sprintf(plain, name, "http://127.0.0.1:1"))
	}
	w.patchDefinition("compositecontrollers.metacontroller.k8s.io", `{"metadata":{"labels":{"argocd.argoproj.io/instance":"metacontroller"}}}`)
	w.patchDefinition("decoratorcontrollers.metacontroller.k8s.io", `{"metadata":{"annotations":{"meta.helm.sh/release-name":"original"}}}`)
	w.patchDefinition("controllerrevisions.metacontroller.k8s.io", `{"metadata":{"labels":{"olm.managed":"true"}}}`)
	w.installOriginal(1, "--target-label-selector=engine=old", "--workers=20")
	before := w.touched()
	said := w.migrate("check")
	for _, part := range []string{
		"Found:", "2 CompositeControllers", "0 DecoratorControllers", "0 ControllerRevisions",
		"Metacontroller runs as statefulset/metacontroller/metacontroller, with 1 replica",
		"Different from Metacontroller:",
		"CompositeController a, CompositeController b: its parents are not of a CustomResourceDefinition, so Metacontroller never ran it",
		"To look at:",
		"CustomResourceDefinition compositecontrollers.metacontroller.k8s.io: Argo CD manages it: have it leave the definition alone",
		"CustomResourceDefinition controllerrevisions.metacontroller.k8s.io: the Operator Lifecycle Manager manages it",
		"CustomResourceDefinition decoratorcontrollers.metacontroller.k8s.io: the Helm release original manages it",
		"see to it that the server has the flags of Metacontroller: --apply-strategy=dynamic-apply --apply-strategy-ssa-field-manager=metacontroller --target-label-selector=engine=old",
		`CompositeController a, CompositeController b: spec.parentResource: the cluster does not serve "things" in example.com/v1 yet`,
		"Nothing stands in the way.",
	} {
		if !strings.Contains(said, part) {
			t.Errorf("check does not say %q", part)
		}
	}
	if strings.Contains(said, "Stands in the way:") || strings.Contains(said, "Rights that") {
		t.Error("check says what is not to be said")
	}
	w.expectSame(before)
}

// The rights that are missing are named, and nothing is asked of the cluster without them.
func TestRightsThatAreMissing(t *testing.T) {
	w := newWorld(t)
	var err error
	if w.kubeconfig, err = env.Host.WriteKubeconfig("nobody", "nobody", "system:authenticated"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check"}, {"--dry-run"}} {
		said, err := w.tryToMigrate(args...)
		for _, part := range []string{
			"Stands in the way:", "you: lack the right to delete customresourcedefinitions.apiextensions.k8s.io",
			"you: lack the right to update apiservices.apiregistration.k8s.io", "you: lack the right to create imports.migration.metacontroller.k8s.io",
			"you: lack the right to list pods", "things stand in the way: see above",
		} {
			if err == nil || !strings.Contains(said, part) {
				t.Errorf("migrate %v does not say %q", args, part)
			}
		}
	}
	if _, err := env.Dynamic.Resource(apiServices).Get(t.Context(), importsAPIService, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the API of the migration was registered, error %v", err)
	}
}

// Parents that somebody else cares for, too, are said of each controller.
func TestParentsOfTwoControllers(t *testing.T) {
	w := newWorld(t)
	e, _ := newEstate(w, []shape{{name: "one", method: "InPlace"}})
	e.leave(1)
	env.Apply(t, strings.Replace(fmt.Sprintf(plain, "all", "http://127.0.0.1:1"), "{apiVersion: example.com/v1, resource: things}",
		fmt.Sprintf("{apiVersion: %s, resource: %s}", e.things.GroupVersion(), e.things.Resource), 1))
	said := w.migrate("check")
	for name, other := range map[string]string{"one": "all", "all": "one"} {
		if !strings.Contains(said, fmt.Sprintf("CompositeController %s: spec.parentResource: CompositeController %q may handle the same parents", name, other)) {
			t.Errorf("it does not say that %s has the parents of %s", name, other)
		}
	}
}
