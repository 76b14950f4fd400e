// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestEachMethodOfTheAPIIsOneThatActsOnOneChild(t *testing.T) {
	want := map[v1alpha1.ChildUpdateMethod]Method{
		v1alpha1.ChildUpdateOnDelete:        OnDelete,
		v1alpha1.ChildUpdateRecreate:        Recreate,
		v1alpha1.ChildUpdateInPlace:         InPlace,
		v1alpha1.ChildUpdateRollingRecreate: Recreate,
		v1alpha1.ChildUpdateRollingInPlace:  InPlace,
	}
	for _, method := range v1alpha1.ChildUpdateMethods() {
		if got := Method(method.OfOneChild()); got != want[method] {
			t.Errorf("%s updates one child by %s, want %q", method, got, want[method])
		}
	}
}

// The desired child is then the observed one itself. Its record, or the owners of its fields, may say that others have
// written it.
func TestAChildWhoseTurnInARolloutHasNotComeStaysAsItIs(t *testing.T) {
	for _, engine := range []Engine{DynamicApply, ServerSideApply} {
		for _, method := range []Method{Recreate, InPlace} {
			t.Run(fmt.Sprintf("%s, %s", engine, method), func(t *testing.T) {
				w := newWorld(t, web, configMaps)
				w.strategies[configMaps.GroupKind()] = Strategy{Method: method, Engine: engine, Rolls: true}
				if engine == DynamicApply {
					w.children[configMaps] = append(w.children[configMaps], w.applied(configMaps, childAChanged, childA))
				} else {
					w.hasApplied(configMaps, childAChanged, strings.Replace(fieldsOfA, `"f:key":{}`, `"f:x":{}`, 1))
				}
				planned := w.plan(&pipeline.Response{Children: []*object.Object{w.child(configMaps, "a")}})
				if step := stepFor(t, planned, "a"); step.Op != pipeline.Keep || step.Why != whyLeft {
					t.Errorf("%s because %s", step.Op, step.Why)
				}
			})
		}
	}
}

// A new Op needs a reason, and a plan that has it.
func TestEveryOpIsPlannedWithItsReason(t *testing.T) {
	const (
		unselected = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: other}}}`
		orphan     = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, uid: ua, labels: {app: shop}}}`
		optedOut   = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: parent-uid, labels: {out: x}, finalizers: [` + ourFinalizer + `]}}`
	)
	composite := func() *world { return newWorld(t, web, configMaps) }
	plans := map[pipeline.Op]func() *pipeline.Plan{
		pipeline.Adopt: func() *pipeline.Plan {
			w := composite().hasAsIs(configMaps, orphan)
			return w.plan(w.answer(orphan))
		},
		pipeline.Release: func() *pipeline.Plan {
			w := composite().has(configMaps, unselected)
			return w.plan(w.answer())
		},
		pipeline.Delete: func() *pipeline.Plan {
			w := composite().has(configMaps, childA)
			return w.plan(w.answer())
		},
		pipeline.Recreate: func() *pipeline.Plan {
			w := composite().method(Recreate).has(configMaps, childA)
			return w.plan(w.answer(childAChanged))
		},
		pipeline.Create: func() *pipeline.Plan {
			w := composite()
			return w.plan(w.answer(childA))
		},
		pipeline.Update: func() *pipeline.Plan {
			w := composite().method(InPlace).has(configMaps, childA)
			return w.plan(w.answer(childAChanged))
		},
		pipeline.Apply: func() *pipeline.Plan {
			w := composite().serverSide(InPlace)
			return w.plan(w.answer(childA))
		},
		pipeline.ToServerSideApply: func() *pipeline.Plan {
			w := composite().serverSide(InPlace).has(configMaps, childA)
			return w.plan(w.answer(childA))
		},
		pipeline.ToDynamicApply: func() *pipeline.Plan {
			w := composite().method(InPlace).hasApplied(configMaps, childA, fieldsOfA)
			return w.plan(w.answer(childA))
		},
		pipeline.Keep: func() *pipeline.Plan {
			w := composite().has(configMaps, childA)
			return w.plan(w.answer(childA))
		},
		pipeline.Status: func() *pipeline.Plan { return composite().plan(answering(`{"a": 1}`)) },
		pipeline.Metadata: func() *pipeline.Plan {
			return newTarget(t, web).plan(&pipeline.Response{Labels: changes("a", "b")})
		},
		pipeline.Finalizer: func() *pipeline.Plan {
			return newTarget(t, optedOut).plan(&pipeline.Response{Finalized: true})
		},
	}
	for _, op := range pipeline.Ops() {
		t.Run(string(op), func(t *testing.T) {
			made, there := plans[op]
			if !there {
				t.Fatal("no plan is known that has it")
			}
			planned := made()
			i := slices.IndexFunc(planned.Steps, func(step pipeline.Step) bool { return step.Op == op })
			if i < 0 {
				t.Fatalf("the plan does not have it: %v, refused %v", steps(planned), planned.Refused)
			}
			if planned.Steps[i].Why == "" {
				t.Error("it has no reason")
			}
		})
	}
}
