// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// A refused child may be one that is there, with a slip in its answer: if it counted as unwanted, the
// slip would cost the child. All other children that the hook does not list go.
func TestARefusedChildProtectsOnlyWhatItMayBe(t *testing.T) {
	const config, deployment = "delete ConfigMap default/b", "delete Deployment default/b"
	tests := map[string]struct {
		refused string
		deleted []string
	}{
		"an undeclared kind":           {`{apiVersion: v1, kind: Secret, metadata: {name: b, labels: {app: shop}}}`, []string{config, deployment}},
		"an undeclared version":        {`{apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: b, labels: {app: shop}}}`, []string{config}},
		"an undeclared group":          {`{apiVersion: extensions/v1, kind: Deployment, metadata: {name: b, labels: {app: shop}}}`, []string{config}},
		"a kind in lower case":         {`{apiVersion: v1, kind: configmap, metadata: {name: b, labels: {app: shop}}}`, []string{deployment}},
		"a misspelt kind":              {`{apiVersion: apps/v1, kind: Deploymnet, metadata: {name: b, labels: {app: shop}}}`, []string{config}},
		"no apiVersion":                {`{kind: ConfigMap, metadata: {name: b, labels: {app: shop}}}`, []string{deployment}},
		"another namespace":            {`{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: elsewhere, labels: {app: shop}}}`, []string{deployment}},
		"a cluster-scoped kind":        {`{apiVersion: v1, kind: Namespace, metadata: {name: b, labels: {app: shop}}}`, []string{config, deployment}},
		"the kind, under another name": {`{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: elsewhere, labels: {app: shop}}}`, []string{config, deployment}},
		"no name":                      {`{apiVersion: v1, kind: ConfigMap, metadata: {labels: {app: shop}}}`, []string{config, deployment}},
		"a generated name":             {`{apiVersion: v1, kind: ConfigMap, metadata: {generateName: b, labels: {app: shop}}}`, []string{config, deployment}},
	}
	decorated := func(text string) string {
		return strings.Replace(text, "labels: {app: shop}", "annotations: {"+decoratorAnnotation+": deco}", 1)
	}
	asItIs := func(text string) string { return text }
	deleted := metav1.NewTime(time.Unix(1_800_000_000, 0))
	worlds := map[string]struct {
		make   func() *world
		claims func(string) string
	}{
		"a parent": {func() *world { return newWorld(t, web, configMaps, deployments, namespaces) }, asItIs},
		"a parent that is finalized": {func() *world {
			w := newWorld(t, web, configMaps, deployments, namespaces)
			w.finalizes = true
			w.parent.DeletionTimestamp, w.parent.Finalizers = &deleted, []string{ourFinalizer}
			return w
		}, asItIs},
		"a target": {func() *world { return newTarget(t, web, configMaps, deployments, namespaces) }, decorated},
		"a target that is finalized": {func() *world {
			w := newTarget(t, web, configMaps, deployments, namespaces)
			w.parent.DeletionTimestamp, w.parent.Finalizers = &deleted, []string{ourFinalizer}
			return w
		}, decorated},
	}
	for of, in := range worlds {
		for name, test := range tests {
			t.Run(of+", "+name, func(t *testing.T) {
				w := in.make().method(InPlace).
					has(configMaps, in.claims(childA), in.claims(childB)).
					has(deployments, in.claims(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: b, labels: {app: shop}}, spec: {}}`))
				planned := w.plan(w.answer(in.claims(childAChanged), test.refused))
				want := append(test.deleted, "update ConfigMap default/a")
				var got []string
				for _, write := range writes(planned) {
					if !strings.HasPrefix(write, "status ") {
						got = append(got, write)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("writes (-want +got):\n%s", diff)
				}
				if len(planned.Refused) != 1 {
					t.Errorf("refused %v", planned.Refused)
				}
			})
		}
	}
}

// A child below a cluster-scoped parent may lack the namespace that it is in.
func TestARefusedChildWithoutANamespaceProtectsThoseOfItsName(t *testing.T) {
	w := newWorld(t, fleet, configMaps)
	for _, namespace := range []string{"one", "two"} {
		for _, name := range []string{"a", "b"} {
			text := strings.Replace(childA, "{name: a", "{name: "+name+", namespace: "+namespace, 1)
			w.children[configMaps] = append(w.children[configMaps], w.applied(configMaps, text, text))
		}
	}
	planned := w.plan(w.answer(childA))
	if diff := cmp.Diff([]string{"delete ConfigMap one/b", "delete ConfigMap two/b"}, writes(planned)); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// A parent goes whose finalize hook never stops listing a child that it cannot have.
func TestAParentIsFinalizedBesideARefusedChild(t *testing.T) {
	const refused = `{apiVersion: v1, kind: Secret, metadata: {name: s, labels: {app: shop}}}`
	w := newWorld(t, web, configMaps).has(configMaps, childA)
	w.finalizes = true
	deleted := metav1.NewTime(time.Unix(1_800_000_000, 0))
	w.parent.DeletionTimestamp, w.parent.Finalizers = &deleted, []string{ourFinalizer}
	w.carryOut(w.plan(w.answer(refused)))
	if left := w.children[configMaps]; len(left) > 0 {
		t.Fatalf("the children %v are left", []*object.Object(left))
	}
	response := w.answer(refused)
	response.Finalized = true
	if diff := cmp.Diff([]string{"finalizer Web default/shop"}, writes(w.plan(response))); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}
