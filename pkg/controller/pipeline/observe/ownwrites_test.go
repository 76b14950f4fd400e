// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"runtime"
	"testing"
	"weak"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

const configMapA = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, uid: u-a}}`

func TestNothingIsPending(t *testing.T) {
	var pending OwnWrites
	if !pending.DropSeen() {
		t.Error("something is pending where nothing was written")
	}
}

func TestAWriteIsPendingUntilTheCacheShowsIt(t *testing.T) {
	for _, op := range []pipeline.Op{pipeline.Create, pipeline.Update, pipeline.Adopt, pipeline.Release, pipeline.Status} {
		t.Run(string(op), func(t *testing.T) {
			observer, served := observing(t, webs, NewLabelClaims(false), shop, configMapA)
			of, written := configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: default, uid: u-b, resourceVersion: "200"}}`
			if op == pipeline.Status {
				of, written = webs, `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: u-shop, resourceVersion: "200"}}`
			}
			var pending OwnWrites
			observer.Wrote(&pending, []pipeline.Outcome{{Step: pipeline.Step{Op: op, Type: of}, Result: parsed(t, written)}})
			if pending.DropSeen() {
				t.Fatal("the cache cannot show it yet")
			}
			served.send(t, "MODIFIED", written)
			eventually(t, "the write was seen", pending.DropSeen)
		})
	}
}

// Where many parents are new, that would be all that was written to them.
func TestAPendingWriteDoesNotHoldWhatWasWritten(t *testing.T) {
	observer, _ := observing(t, webs, NewLabelClaims(false), shop)
	var pending OwnWrites
	written := pipeline.Outcome{
		Step:   pipeline.Step{Op: pipeline.Create, Type: configMaps, Namespace: "default", Name: "b", Body: make([]byte, 1<<10)},
		Result: parsed(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: default, resourceVersion: "200"}}`),
	}
	body, result := weak.Make(&written.Body[0]), weak.Make(written.Result)
	observer.Wrote(&pending, []pipeline.Outcome{written})
	written = pipeline.Outcome{}
	runtime.GC()
	if body.Value() != nil || result.Value() != nil {
		t.Errorf("held are its body: %v, the object: %v", body.Value() != nil, result.Value() != nil)
	}
	if pending.DropSeen() {
		t.Error("the cache cannot have shown it")
	}
}

func TestALaterChangeShowsAnEarlierWrite(t *testing.T) {
	observer, served := observing(t, webs, NewLabelClaims(false), shop)
	var pending OwnWrites
	observer.Wrote(&pending, []pipeline.Outcome{{
		Step: pipeline.Step{Op: pipeline.Update, Type: configMaps}, Result: parsed(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: default, resourceVersion: "200"}}`),
	}})
	served.send(t, "ADDED", `{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: default, resourceVersion: "201"}}`)
	eventually(t, "the write was seen", pending.DropSeen)
}

func TestADeletionIsPendingUntilTheCacheShowsIt(t *testing.T) {
	tests := map[string]struct{ kind, event string }{
		"the object is gone":      {"DELETED", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, uid: u-a, resourceVersion: "200"}}`},
		"the object is going":     {"MODIFIED", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, uid: u-a, resourceVersion: "200", deletionTimestamp: "2026-03-04T05:06:07Z"}}`},
		"another has come for it": {"MODIFIED", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, uid: u-b, resourceVersion: "200"}}`},
	}
	for what, test := range tests {
		for _, op := range []pipeline.Op{pipeline.Delete, pipeline.Recreate} {
			t.Run(what+" after "+string(op), func(t *testing.T) {
				observer, served := observing(t, webs, NewLabelClaims(false), shop, configMapA)
				var pending OwnWrites
				observer.Wrote(&pending, []pipeline.Outcome{{Step: pipeline.Step{Op: op, Type: configMaps, Observed: observer.Children[0].Get(name("default", "a").NamespacedName)}}})
				if pending.DropSeen() {
					t.Fatal("the cache still shows the object")
				}
				served.send(t, test.kind, test.event)
				eventually(t, "the deletion was seen", pending.DropSeen)
			})
		}
	}
}

func TestAllWritesMustBeSeen(t *testing.T) {
	observer, served := observing(t, webs, NewLabelClaims(false), shop)
	var pending OwnWrites
	const inMaps = `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: default, resourceVersion: "200"}}`
	const inPods = `{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: default, resourceVersion: "201"}}`
	observer.Wrote(&pending, []pipeline.Outcome{
		{Step: pipeline.Step{Op: pipeline.Create, Type: configMaps}, Result: parsed(t, inMaps)},
		{Step: pipeline.Step{Op: pipeline.Create, Type: pods}, Result: parsed(t, inPods)},
	})
	served.send(t, "ADDED", inMaps)
	eventually(t, "the ConfigMap was seen", func() bool { return observer.Children[0].Seen("200") })
	if pending.DropSeen() {
		t.Error("the Pod cannot have been seen yet")
	}
	served.send(t, "ADDED", inPods)
	eventually(t, "the Pod was seen", pending.DropSeen)
}

// Taking the last finalizer off an object that is being deleted removes it. The host answers with the version before.
func TestAWriteThatRemovesItsObjectIsPendingUntilTheCacheShowsIt(t *testing.T) {
	const before = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: u-shop, resourceVersion: "101", finalizers: [ours], deletionTimestamp: "2026-03-04T05:06:07Z"}}`
	const after = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: u-shop, resourceVersion: "101", deletionTimestamp: "2026-03-04T05:06:07Z"}}`
	for what, event := range map[string]struct{ kind, object string }{
		"the object is gone":      {"DELETED", `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: u-shop, resourceVersion: "200"}}`},
		"another has come for it": {"MODIFIED", `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: u-other, resourceVersion: "201"}}`},
	} {
		t.Run(what, func(t *testing.T) {
			observer, served := observing(t, webs, NewLabelClaims(false), shop)
			served.send(t, "MODIFIED", before)
			eventually(t, "the deletion was seen", func() bool { return observer.Get(name("default", "shop")).DeletionTimestamp != nil })
			var pending OwnWrites
			observer.Wrote(&pending, []pipeline.Outcome{{
				Step: pipeline.Step{Op: pipeline.Finalizer, Type: webs, Observed: observer.Get(name("default", "shop"))}, Result: parsed(t, after),
			}})
			if pending.DropSeen() {
				t.Fatal("the cache still shows the object")
			}
			served.send(t, event.kind, event.object)
			eventually(t, "the end was seen", pending.DropSeen)
		})
	}
}

func TestWhatWasNotWrittenIsNotPending(t *testing.T) {
	observer, _ := observing(t, webs, NewLabelClaims(false), shop, configMapA)
	observed := observer.Children[0].Get(name("default", "a").NamespacedName)
	newer := parsed(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, resourceVersion: "200"}}`)
	unwatched := object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Kind: "Secret"}
	for what, outcome := range map[string]pipeline.Outcome{
		"a write that failed":               {Step: pipeline.Step{Op: pipeline.Update, Type: configMaps}, Err: errors.New("no")},
		"a deletion that failed":            {Step: pipeline.Step{Op: pipeline.Delete, Type: configMaps, Observed: observed}, Err: errors.New("no")},
		"a write that was overtaken":        {Step: pipeline.Step{Op: pipeline.Update, Type: configMaps, Observed: observed}},
		"a deletion that was overtaken":     {Step: pipeline.Step{Op: pipeline.Delete, Type: configMaps, Observed: observed}, Conflict: true},
		"a child whose name is taken":       {Step: pipeline.Step{Op: pipeline.Create, Type: configMaps}, NameConflict: true},
		"a write that the cache shows":      {Step: pipeline.Step{Op: pipeline.Update, Type: configMaps}, Result: observed},
		"a write of a type without a cache": {Step: pipeline.Step{Op: pipeline.Create, Type: unwatched}, Result: newer},
	} {
		t.Run(what, func(t *testing.T) {
			var pending OwnWrites
			observer.Wrote(&pending, []pipeline.Outcome{outcome})
			if !pending.DropSeen() {
				t.Error("it is pending")
			}
		})
	}
}

// A write of the parent may find that another client has made it already, on a form of the parent that
// the cache does not show yet.
func TestAParentThatWasReadAnewIsPendingUntilTheCacheShowsIt(t *testing.T) {
	observer, served := observing(t, webs, NewLabelClaims(false), shop)
	newer := parsed(t, `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: u-shop, resourceVersion: "200"}}`)
	var pending OwnWrites
	observer.Wrote(&pending, []pipeline.Outcome{{Step: pipeline.Step{Op: pipeline.Finalizer, Type: webs, Observed: newer}}})
	if pending.DropSeen() {
		t.Fatal("the cache shows an earlier parent")
	}
	served.send(t, "MODIFIED", `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: u-shop, resourceVersion: "200"}}`)
	eventually(t, "the parent was seen", pending.DropSeen)
}

// The parents' watch may show only some objects of the type.
func TestWritesOfChildrenOfTheParentsTypeAreLookedForAmongChildren(t *testing.T) {
	observer, _ := observing(t, webs, NewLabelClaims(false))
	observer.Targets = append(observer.Targets, &Target{View: &cache.View{Type: configMaps}})
	if observer.viewOf(configMaps.GroupVersionResource) != observer.Children[0] {
		t.Error("they are looked for among the parents")
	}
}

// So they do when the etcd of the host is restored.
func TestAWriteIsNotPendingWhenTheVersionsGoBackwards(t *testing.T) {
	observer, served := observing(t, webs, NewLabelClaims(false), shop)
	var pending OwnWrites
	write := func(version string) {
		text := `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: x, resourceVersion: "` + version + `"}}`
		observer.Wrote(&pending, []pipeline.Outcome{{
			Step: pipeline.Step{Op: pipeline.Update, Type: configMaps}, Result: parsed(t, text),
		}})
	}
	write("9000")
	const other = `{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: default, resourceVersion: "9000"}}`
	served.send(t, "ADDED", other)
	eventually(t, "the write was seen", pending.DropSeen)
	write("9001")
	if pending.DropSeen() {
		t.Fatal("the cache cannot show it yet")
	}
	served.eventsOf("/api/v1/configmaps") <- `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1",` +
		`"status":"Failure","code":410,"reason":"Expired","message":"too old resource version"}}`
	eventually(t, "the write is no longer waited for", pending.DropSeen)
	write("8000")
	if pending.DropSeen() {
		t.Error("later writes are not waited for")
	}
}
