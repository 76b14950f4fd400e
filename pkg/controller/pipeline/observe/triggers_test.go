// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"math/rand/v2"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// The handler of events does not ask for the parents where none can be concerned.
func TestWhatHasParentsMayConcernParents(t *testing.T) {
	const fleet = `{apiVersion: ctl.example/v1, kind: Fleet, metadata: {name: shop, uid: u-shop}, spec: {selector: {matchLabels: {app: shop}}}}`
	for name, test := range map[string]struct {
		parents object.Type
		claims  Claims
		objects []string
	}{
		"labels":                                {webs, NewLabelClaims(false), []string{shop, blog, faraway, broken}},
		"generated labels":                      {webs, NewLabelClaims(true), []string{shop, blog, faraway}},
		"an annotation":                         {webs, AnnotationClaims{Name: "pages"}, []string{shop, blog, faraway}},
		"labels, of cluster-scoped parents":     {fleets, NewLabelClaims(false), []string{fleet}},
		"generated labels, of cluster-scoped":   {fleets, NewLabelClaims(true), []string{fleet}},
		"an annotation, cluster-scoped parents": {fleets, AnnotationClaims{Name: "pages"}, []string{fleet}},
	} {
		t.Run(name, func(t *testing.T) {
			observer, _ := observing(t, test.parents, test.claims, test.objects...)
			random := rand.New(rand.NewPCG(14, 3))
			withParents, ofNoConcern := 0, 0
			for range 20_000 {
				before, after := randomChild(random), randomChild(random)
				parents, may := observer.ParentsOf(before, after), observer.MayConcern(before, after)
				switch {
				case len(parents) > 0 && !may:
					t.Fatalf("a change from %+v to %+v concerns %v, and it is said that it cannot", before, after, parents)
				case len(parents) > 0:
					withParents++
				case !may:
					ofNoConcern++
				}
			}
			if withParents < 200 || ofNoConcern < 200 {
				t.Errorf("%d changes have parents and %d are of no concern: the test hardly tries", withParents, ofNoConcern)
			}
		})
	}
}

// randomChild makes a child with a random choice of the traits that claims look at. Sometimes it
// returns nil.
func randomChild(random *rand.Rand) *object.Object {
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	child := &object.Object{ObjectMeta: metav1.ObjectMeta{
		Namespace: one("default", "default", "far", ""), Name: one("a", "b"), UID: "u-child",
		Labels: map[string]string{}, Annotations: map[string]string{},
	}}
	for key, value := range map[string]string{"app": one("", "shop", "blog", "other"), generatedLabel: one("", "u-shop", "u-blog", "gone")} {
		if value != "" {
			child.Labels[key] = value
		}
	}
	if decorator := one("", "pages", "pages", "others"); decorator != "" {
		child.Annotations[object.DecoratorAnnotation] = decorator
	}
	for range random.IntN(3) {
		parent := one("shop", "shop", "blog", "gone")
		child.OwnerReferences = append(child.OwnerReferences, metav1.OwnerReference{
			APIVersion: one("ctl.example/v1", "ctl.example/v1beta1", "apps/v1"), Kind: one("Web", "Fleet", "Deployment"),
			Name: parent, UID: types.UID(one("u-"+parent, "u-"+parent, "u-other")),
			Controller: []*bool{nil, ptr.To(false), ptr.To(true)}[random.IntN(3)],
		})
	}
	switch random.IntN(8) {
	case 0:
		return nil
	case 1:
		child.DeletionTimestamp = &metav1.Time{}
	}
	return child
}

func TestIgnores(t *testing.T) {
	observer, _ := observing(t, webs, NewLabelClaims(false))
	observer.Finalizer = "example/held"
	const web = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, generation: 1, `
	const (
		selected = web + `labels: {run: here}}, status: {x: 1}}`
		working  = web + `labels: {run: here}}, status: {x: 2}}`
		others   = web + `labels: {run: there}}, status: {x: 1}}`
		busy     = web + `labels: {run: there}}, status: {x: 2}}`
		held     = web + `labels: {run: there}, finalizers: [example/held]}}`
	)
	tests := map[string]struct {
		rule          Rule
		before, after string
		want          bool
	}{
		"a new parent":                              {Rule{}, "", selected, false},
		"a new object that is not selected":         {Rule{}, "", others, true},
		"a change of one that is not selected":      {Rule{}, others, busy, true},
		"a parent that is not selected any more":    {Rule{}, selected, others, false},
		"an object that becomes a parent":           {Rule{}, others, selected, false},
		"one that is held and not selected":         {Rule{}, "", held, false},
		"one that is let go and not selected":       {Rule{}, held, others, false},
		"the status of a parent":                    {Rule{}, selected, working, false},
		"the status of a parent, ignored":           {Rule{IgnoreStatusChanges: true}, selected, working, true},
		"more than the status, ignored":             {Rule{IgnoreStatusChanges: true}, others, selected, false},
		"an object of a kind that nobody asked for": {Rule{}, "", `{apiVersion: ctl.example/v1, kind: Other, metadata: {name: shop, labels: {run: here}}}`, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.rule.Labels = selecting(t, "run=here")
			observer.Targets[0].Rules = []Rule{test.rule}
			if got := observer.Ignores(optional(t, test.before), parsed(t, test.after)); got != test.want {
				t.Errorf("passed over: %v, want %v", got, test.want)
			}
		})
	}
}

func TestOnlyStatusChanged(t *testing.T) {
	const before = `{metadata: {generation: 3, labels: {a: "1"}, annotations: {b: "1"}, resourceVersion: "1"}, status: {x: 1}}`
	tests := map[string]struct {
		before, after string
		want          bool
	}{
		"the status":                             {before, `{metadata: {generation: 3, labels: {a: "1"}, annotations: {b: "1"}, resourceVersion: "2"}, status: {x: 2}}`, true},
		"nothing at all":                         {before, before, true},
		"finalizers alone":                       {before, `{metadata: {generation: 3, labels: {a: "1"}, annotations: {b: "1"}, resourceVersion: "2", finalizers: [a/b]}}`, true},
		"owners alone":                           {before, `{metadata: {generation: 3, labels: {a: "1"}, annotations: {b: "1"}, resourceVersion: "2", ownerReferences: [{uid: u}]}}`, true},
		"the generation":                         {before, `{metadata: {generation: 4, labels: {a: "1"}, annotations: {b: "1"}}}`, false},
		"a label":                                {before, `{metadata: {generation: 3, labels: {a: "2"}, annotations: {b: "1"}}}`, false},
		"a label that is new":                    {before, `{metadata: {generation: 3, labels: {a: "1", c: "1"}, annotations: {b: "1"}}}`, false},
		"an annotation":                          {before, `{metadata: {generation: 3, labels: {a: "1"}, annotations: {b: "2"}}}`, false},
		"an annotation gone":                     {before, `{metadata: {generation: 3, labels: {a: "1"}}}`, false},
		"it is being deleted":                    {before, `{metadata: {generation: 3, labels: {a: "1"}, annotations: {b: "1"}, deletionTimestamp: "2026-03-04T05:06:07Z"}}`, false},
		"the parent is new":                      {"", before, false},
		"the status of one without generations":  {`{metadata: {name: a}, status: {x: 1}}`, `{metadata: {name: a}, status: {x: 2}}`, true},
		"the content of one without generations": {`{metadata: {name: a}, data: {x: "1"}}`, `{metadata: {name: a}, data: {x: "2"}}`, false},
		"the parent is gone":                     {before, "", false},
		"another one of that name":               {before, `{metadata: {uid: u, generation: 3, labels: {a: "1"}, annotations: {b: "1"}}}`, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := optional(t, test.before), optional(t, test.after)
			if got := onlyStatusChanged(before, after); got != test.want {
				t.Errorf("only the status changed: %v, want %v", got, test.want)
			}
		})
	}
}
