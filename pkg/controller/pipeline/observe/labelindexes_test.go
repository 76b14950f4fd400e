// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// The indexes find exactly the parents that looking at all of them finds, and the orphans that
// looking at all orphans finds, while parents come, change and go.
func TestIndexesFindWhatLookingAtAllFinds(t *testing.T) {
	for name, test := range map[string]struct {
		parents  object.Type
		generate bool
	}{
		"selectors of namespaced parents":           {webs, false},
		"generated selectors of namespaced parents": {webs, true},
		"selectors of cluster-scoped parents":       {fleets, false},
		"generated selectors of such parents":       {fleets, true},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(15, 14))
			orphans := make([]*object.Object, 300)
			texts := make([]string, len(orphans))
			for i := range orphans {
				orphans[i] = randomOrphan(random, i)
				texts[i] = inJSON(t, orphans[i])
			}
			claims := NewLabelClaims(test.generate)
			observer, host := observing(t, test.parents, claims, texts...)
			adopted, version := 0, 100
			for range 60 {
				kind, parent := "ADDED", randomParent(random, test.parents)
				target := observer.Targets[0].View
				if known := target.Get(object.KeyOf(parent).NamespacedName); known != nil {
					if kind = "MODIFIED"; random.IntN(4) == 0 {
						kind = "DELETED"
					}
				}
				version++
				parent.ResourceVersion = strconv.Itoa(version)
				host.send(t, kind, inJSON(t, parent))
				eventually(t, "the change is seen", func() bool { return target.Seen(parent.ResourceVersion) })
				for _, orphan := range orphans {
					want := adoptersAmongAll(observer, orphan)
					got := observer.adopters(orphan)
					sortKeys(got)
					if !slices.Equal(got, want) {
						t.Fatalf("the orphan %s in %q with labels %v is adopted by %v, want %v", orphan.Name, orphan.Namespace, orphan.Labels, got, want)
					}
					adopted += len(got)
				}
				for _, parent := range target.List() {
					snapshot := observer.ParentAs(parent)
					if observer.Claim(snapshot) != nil {
						continue // it has no usable selector
					}
					all := claim(configMaps, snapshot, nil, observer.Children[0].Orphans(parent.Namespace))
					if got, want := names(snapshot.Children[0].Adopt), names(all.Adopt); !slices.Equal(got, want) {
						t.Fatalf("%s adopts %v, want %v", parent, got, want)
					}
				}
			}
			if adopted < 100 {
				t.Errorf("%d orphans were adopted: the test hardly tries", adopted)
			}
		})
	}
}

// adoptersAmongAll asks all parents whether they adopt an orphan.
func adoptersAmongAll(o *Observer, orphan *object.Object) []object.Key {
	target, adopters := o.Targets[0], []object.Key{}
	for _, parent := range target.View.List() {
		if target.View.Type.Namespaced && parent.Namespace != orphan.Namespace {
			continue
		}
		if o.Claims.Adopts(parent, orphan) {
			adopters = append(adopters, object.KeyOf(parent))
		}
	}
	sortKeys(adopters)
	return adopters
}

func sortKeys(keys []object.Key) {
	slices.SortFunc(keys, func(a, b object.Key) int { return strings.Compare(a.String(), b.String()) })
}

func inJSON(t *testing.T, o *object.Object) string {
	t.Helper()
	content := map[string]any{"apiVersion": o.APIVersion, "kind": o.Kind, "metadata": o.ObjectMeta}
	if spec := o.Lookup("spec"); spec != nil {
		content["spec"] = json.RawMessage(spec)
	}
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// randomOrphan makes an orphan with a random choice of labels.
func randomOrphan(random *rand.Rand, number int) *object.Object {
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	orphan := &object.Object{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("orphan-", number), Namespace: one("default", "far", "", "default"), Labels: map[string]string{}},
	}
	for key, values := range map[string][]string{"app": {"a", "b", "c", "-"}, "tier": {"x", "y", "-"}, "run": {"", "-"}, generatedLabel: {"u-p0", "u-p1", "u-p2", "gone", "-"}} {
		if value := one(values...); value != "-" {
			orphan.Labels[key] = value
		}
	}
	return orphan
}

// randomParent makes a parent with a random selector, which may be unusable.
func randomParent(random *rand.Rand, of object.Type) *object.Object {
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	var requirements []string
	for range random.IntN(4) {
		requirements = append(requirements, one(
			`{"key":"app","operator":"In","values":["a","b"]}`, `{"key":"app","operator":"In","values":["c"]}`, `{"key":"app","operator":"NotIn","values":["a"]}`,
			`{"key":"tier","operator":"In","values":["x"]}`, `{"key":"tier","operator":"Exists"}`, `{"key":"tier","operator":"DoesNotExist"}`,
			`{"key":"run","operator":"In","values":[""]}`, `{"key":"run","operator":"Exists"}`,
		))
	}
	selector := one(`{"matchLabels":{"app":"a"},"matchExpressions":[%s]}`, `{"matchExpressions":[%s]}`, `{"matchExpressions":[%s]}`)
	name, namespace := one("p0", "p1", "p2", "p3", "p4", "p5"), ""
	if of.Namespaced {
		namespace = one("default", "default", "far")
	}
	raw := fmt.Sprintf(`{"apiVersion":"ctl.example/v1","kind":%q,"metadata":{"name":%q,"namespace":%q,"uid":"u-%s"},"spec":{"selector":`+selector+`}}`,
		of.Kind, name, namespace, name, strings.Join(requirements, ","))
	parent, err := object.Parse([]byte(raw))
	if err != nil {
		panic(err)
	}
	return parent
}
