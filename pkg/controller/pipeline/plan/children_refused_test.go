// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// refusal is a child that cannot be had, and what is said about it.
type refusal struct {
	parent, child, want string
}

// The garbage collector would delete such a child as often as it is created.
func TestQ15ChildrenThatCannotBelongToTheirParentAreRefused(t *testing.T) {
	expectRefusals(t, map[string]refusal{
		"a cluster-scoped child of a namespaced parent": {
			parent: web,
			child:  `{apiVersion: v1, kind: Namespace, metadata: {name: x, labels: {app: shop}}}`,
			want:   `child Namespace x is cluster-scoped and cannot belong to the namespaced parent Web default/shop; make the parent's type cluster-scoped, or leave the child out`,
		},
		"a child in another namespace": {
			parent: web,
			child:  `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: elsewhere, labels: {app: shop}}}`,
			want: `child ConfigMap elsewhere/x is not in the namespace of its parent Web default/shop and ` +
				`cannot belong to it; leave out metadata.namespace`,
		},
		"a namespaced child without a namespace below a cluster-scoped parent": {
			parent: fleet,
			child:  `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {app: shop}}}`,
			want: `child ConfigMap x has no metadata.namespace, and its parent Fleet shop has none either; ` +
				`set metadata.namespace`,
		},
	})
}

// No informer shows such a child: it would be created once and never be compared again.
func TestQ17ChildrenOfUndeclaredTypesAreRefused(t *testing.T) {
	expectRefusals(t, map[string]refusal{
		"a type that no rule declares": {
			parent: web,
			child:  `{apiVersion: v1, kind: Secret, metadata: {name: s, labels: {app: shop}}}`,
			want:   `child Secret s: spec.childResources declares no kind "Secret" in apiVersion "v1"; declare it, or leave the child out`,
		},
		"a declared kind in another version": {
			parent: web,
			child:  `{apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: d, labels: {app: shop}}}`,
			want:   `child Deployment d: spec.childResources declares no kind "Deployment" in apiVersion "apps/v1beta1"; did you mean apps/v1 Deployment? If not, declare it, or leave the child out`,
		},
		"a kind in lower case": {
			parent: web,
			child:  `{apiVersion: apps/v1, kind: deployment, metadata: {name: d, labels: {app: shop}}}`,
			want:   `child deployment d: spec.childResources declares no kind "deployment" in apiVersion "apps/v1"; did you mean apps/v1 Deployment? If not, declare it, or leave the child out`,
		},
		"a misspelt kind": {
			parent: web,
			child:  `{apiVersion: v1, kind: ConfigMpa, metadata: {name: c, labels: {app: shop}}}`,
			want:   `child ConfigMpa c: spec.childResources declares no kind "ConfigMpa" in apiVersion "v1"; did you mean v1 ConfigMap? If not, declare it, or leave the child out`,
		},
		"a misspelt group": {
			parent: web,
			child:  `{apiVersion: app/v1, kind: Deployment, metadata: {name: d, labels: {app: shop}}}`,
			want:   `child Deployment d: spec.childResources declares no kind "Deployment" in apiVersion "app/v1"; did you mean apps/v1 Deployment? If not, declare it, or leave the child out`,
		},
		"a child without an apiVersion": {
			parent: web,
			child:  `{kind: ConfigMap, metadata: {name: x, labels: {app: shop}}}`,
			want:   `child ConfigMap x has no apiVersion; set the one that spec.childResources declares for the kind`,
		},
	})
}

// Such a child would be another one in every sync.
func TestQ39ChildrenWithoutANameAreRefused(t *testing.T) {
	expectRefusals(t, map[string]refusal{
		"a child without a name": {
			parent: web,
			child:  `{apiVersion: v1, kind: ConfigMap, metadata: {labels: {app: shop}}}`,
			want:   `child ConfigMap of apiVersion v1 has no metadata.name; set it, to the same name in every answer`,
		},
		"a child with generateName": {
			parent: web,
			child:  `{apiVersion: v1, kind: ConfigMap, metadata: {generateName: x-, labels: {app: shop}}}`,
			want: `child ConfigMap of apiVersion v1 has no metadata.name; a child must have the same name in every answer, ` +
				`so generateName cannot replace metadata.name`,
		},
	})
}

// expectRefusals plans with each child, beside one that can be had and a status.
func expectRefusals(t *testing.T, tests map[string]refusal) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.parent, configMaps, deployments, namespaces)
			good := strings.Replace(childA, "{name: a", "{name: a, namespace: default", 1)
			response := w.answer(test.child, good)
			response.Status = []byte(`{"ready":true}`)
			planned := w.plan(response)
			if diff := cmp.Diff([]string{test.want}, refusals(planned)); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"create ConfigMap default/a", "status " + w.parent.Kind + " " + strings.TrimPrefix(w.parent.Key().String(), "/")}, steps(planned)); diff != "" {
				t.Errorf("the other steps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryRefusedChildIsNamed(t *testing.T) {
	w := newWorld(t, web, configMaps)
	planned := w.plan(w.answer(`{apiVersion: v1, kind: Secret, metadata: {name: s, labels: {app: shop}}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {labels: {app: shop}}}`))
	if len(planned.Refused) != 2 || len(writes(planned)) != 0 {
		t.Errorf("refused %v, writes %v", planned.Refused, writes(planned))
	}
}

// A child that its parent's selector does not match would be created again and again.
func TestLabelsThatDoNotMatchLeaveEverythingAsItIs(t *testing.T) {
	w := newWorld(t, web, configMaps).method(InPlace).has(configMaps, childA, childB).
		hasAsIs(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: orphan, namespace: default, uid: u, resourceVersion: "7", labels: {app: shop}}}`)
	response := w.answer(childAChanged, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {app: other}}}`)
	response.Status = []byte(`{"ready":true}`)
	planned := w.plan(response)
	if diff := cmp.Diff([]string{"adopt ConfigMap default/orphan"}, steps(planned)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	want := `labels on desired child ConfigMap default/c don't match parent selector "app=shop": no child and no status was written; give the child labels that match, or set the controller's spec.generateSelector`
	if diff := cmp.Diff([]string{want}, refusals(planned)); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

func TestAGeneratedLabelThatTheHookSetsOtherwiseIsRefused(t *testing.T) {
	w := newWorld(t, web, configMaps)
	w.generate = true
	planned := w.plan(w.answer(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {controller-uid: other}}}`))
	if len(planned.Refused) != 1 || len(planned.Steps) != 0 {
		t.Errorf("refused %v, steps %v", planned.Refused, steps(planned))
	}
}

// withRecord puts child a there with a text as the record of what was last applied.
func (w *world) withRecord(record string) *world {
	child := decode(w.t, w.applied(configMaps, childA, childA))
	child["metadata"].(map[string]any)["annotations"].(map[string]any)[object.LastAppliedAnnotation] = record
	w.children[configMaps] = append(w.children[configMaps], w.stored(child, "uid-of-a"))
	return w
}

// Somebody may have changed the annotation. That must not stop a rollout, which compares the children of all versions.
func TestARecordOfWhatWasLastAppliedThatCannotBeRead(t *testing.T) {
	for _, record := range []string{"{", "[1]", `"text"`, "no JSON"} {
		t.Run("the record is "+record, func(t *testing.T) {
			w := newWorld(t, web, configMaps).method(InPlace).has(configMaps, childB).withRecord(record)
			isUpToDate, err := UpToDate(w.snapshot(), w.strategies, &w.upToDate)(w.child(configMaps, "a"), parseYAML(t, childA))
			if isUpToDate || err != nil {
				t.Errorf("that the child is as wanted is %v, and %v", isUpToDate, err)
			}
			planned := w.plan(w.answer(childA, childB))
			if diff := cmp.Diff([]string{"update ConfigMap default/a", "keep ConfigMap default/b"}, steps(planned)); diff != "" {
				t.Errorf("refused %v, steps (-want +got):\n%s", planned.Refused, diff)
			}
			if why := stepFor(t, planned, "a").Why; why != whyMalformed {
				t.Errorf("it says why: %s", why)
			}
			w.carryOut(planned)
			if got := writes(w.plan(w.answer(childA, childB))); len(got) > 0 {
				t.Errorf("after that it writes %v", got)
			}
		})
	}
}

// Somebody may have emptied or changed the annotation. Then nothing is known of what was applied, and the record is
// written again.
func TestARecordThatSaysNothingIsNone(t *testing.T) {
	for _, record := range []string{"", " \n\t", "null", " null\n", "{", "[1]", `"text"`, "no JSON"} {
		emptied := func(w *world) *world { return w.withRecord(record) }
		for _, method := range []Method{InPlace, Recreate} {
			t.Run(fmt.Sprintf("%q, dynamic apply, %s", record, method), func(t *testing.T) {
				w := emptied(newWorld(t, web, configMaps).method(method))
				planned := w.plan(w.answer(childA))
				if diff := cmp.Diff([]string{"update ConfigMap default/a"}, steps(planned)); diff != "" || len(planned.Refused) > 0 {
					t.Fatalf("refused %v, steps (-want +got):\n%s", planned.Refused, diff)
				}
				w.carryOut(planned)
				if step := stepFor(t, w.plan(w.answer(childA)), "a"); step.Op != pipeline.Keep {
					t.Errorf("then %s because %s", step.Op, step.Why)
				}
			})
			t.Run(fmt.Sprintf("%q, dynamic apply after server-side apply, %s", record, method), func(t *testing.T) {
				w := emptied(newWorld(t, web, configMaps).method(method))
				w.child(configMaps, "a").Applied = []byte(fieldsOfA)
				if step := stepFor(t, w.plan(w.answer(childA)), "a"); step.Op != pipeline.ToDynamicApply {
					t.Errorf("%s because %s", step.Op, step.Why)
				}
			})
			t.Run(fmt.Sprintf("%q, server-side apply, %s", record, method), func(t *testing.T) {
				w := emptied(newWorld(t, web, configMaps).serverSide(method))
				if step := stepFor(t, w.plan(w.answer(childA)), "a"); step.Op != pipeline.ToServerSideApply {
					t.Errorf("%s because %s", step.Op, step.Why)
				}
			})
		}
	}
}

func TestAChildWithANumberThatNothingHolds(t *testing.T) {
	for _, method := range []Method{Recreate, InPlace} {
		t.Run(string(method), func(t *testing.T) {
			w := newWorld(t, web, configMaps).method(method).has(configMaps, childA)
			response := w.answer(childB)
			for _, name := range []string{"a", "new"} {
				child := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `","namespace":"default","labels":{"app":"shop"}},"data":{"x":1e999}}`
				response.Children = append(response.Children, parseJSON(t, []byte(child)))
			}
			planned := w.plan(response)
			if diff := cmp.Diff([]string{"create ConfigMap default/b"}, writes(planned)); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if refused := refusals(planned); len(refused) != 2 || !strings.HasPrefix(refused[0], "decode ConfigMap default/a: ") || !strings.HasPrefix(refused[1], "decode ConfigMap default/new: ") {
				t.Errorf("refused %v", refused)
			}
		})
	}
}

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

func TestWhichDeclaredTypeIsMeant(t *testing.T) {
	var declared []pipeline.Group
	for _, of := range []schema.GroupVersionKind{
		{Group: "", Version: "v1", Kind: "Service"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "example.com", Version: "v1", Kind: "Ingress"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	} {
		declared = append(declared, pipeline.Group{Type: object.Type{GroupVersionResource: of.GroupVersion().WithResource("any"), Kind: of.Kind}})
	}
	for name, test := range map[string]struct{ apiVersion, kind, want string }{
		"a kind in lower case":                      {"apps/v1", "deployment", "apps/v1 Deployment"},
		"the plural":                                {"apps/v1", "Deployments", "apps/v1 Deployment"},
		"a group that there is no longer":           {"extensions/v1beta1", "Deployment", "apps/v1 Deployment"},
		"no group":                                  {"v1", "Deployment", "apps/v1 Deployment"},
		"a group of two that have the kind":         {"networking.k8s.io/v1beta1", "Ingress", "networking.k8s.io/v1 Ingress"},
		"another group than two that have the kind": {"extensions/v1beta1", "Ingress", "example.com/v1 Ingress"},
		"a kind that is not near":                   {"v1", "Secret", ""},
		"a longer kind":                             {"v1", "ServiceAccount", ""},
		"no kind":                                   {"v1", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			child := &object.Object{TypeMeta: metav1.TypeMeta{APIVersion: test.apiVersion, Kind: test.kind}}
			got := ""
			if meant := meantType(child, declared); meant != nil {
				got = meant.GroupVersion().String() + " " + meant.Kind
			}
			if got != test.want {
				t.Errorf("%q is meant, want %q", got, test.want)
			}
		})
	}
}
