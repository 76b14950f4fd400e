// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

var (
	webs = object.Type{
		GroupVersionResource: schema.GroupVersionResource{Group: "ctl.example", Version: "v1", Resource: "webs"}, Kind: "Web",
		Namespaced: true, StatusSubresource: true,
	}
	pods = object.Type{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", Namespaced: true, StatusSubresource: true,
	}
)

func TestASyncIsToldInOneLine(t *testing.T) {
	version := func(resourceVersion string) *object.Object {
		return &object.Object{ObjectMeta: metav1.ObjectMeta{ResourceVersion: resourceVersion}}
	}
	step := func(op pipeline.Op, name string, before *object.Object) pipeline.Step {
		return pipeline.Step{Op: op, Type: pods, Namespace: "default", Name: name, Observed: before}
	}
	leaving := func(finalizers ...string) *object.Object {
		now := metav1.Now()
		return &object.Object{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1", DeletionTimestamp: &now, Finalizers: finalizers}}
	}
	written := func(op pipeline.Op, name string) pipeline.Outcome {
		return pipeline.Outcome{Step: step(op, name, version("1")), Result: version("2")}
	}
	onParent := func(op pipeline.Op) pipeline.Outcome {
		outcome := written(op, "a")
		outcome.Type = webs
		return outcome
	}
	tests := map[string]struct {
		outcomes []pipeline.Outcome
		want     string
	}{
		"nothing": {nil, ""},
		"a child and the status": {[]pipeline.Outcome{written(pipeline.Update, "b"), onParent(pipeline.Status)},
			"updated Pod b, status"},
		"other parts of the parent": {[]pipeline.Outcome{onParent(pipeline.Metadata), onParent(pipeline.Finalizer)},
			"updated labels and annotations, finalizers"},
		"the last finalizer": {[]pipeline.Outcome{{Step: pipeline.Step{Op: pipeline.Finalizer, Type: webs,
			Namespace: "default", Name: "a", Observed: leaving("ours")}, Result: leaving()}}, "updated finalizers"},
		"a child that is kept": {[]pipeline.Outcome{written(pipeline.Keep, "b")}, ""},
		"a child that was made": {[]pipeline.Outcome{{Step: step(pipeline.Create, "b", nil), Result: version("1")},
			{Step: step(pipeline.Apply, "c", nil), Result: version("1")}}, "created Pod b, Pod c"},
		"an apply that changed it": {[]pipeline.Outcome{written(pipeline.Apply, "b")}, "updated Pod b"},
		"one that changed nothing": {[]pipeline.Outcome{{Step: step(pipeline.Apply, "b", version("1")),
			Result: version("1")}}, ""},
		"one that wrote nothing": {[]pipeline.Outcome{{Step: step(pipeline.Update, "b", version("1"))}}, ""},
		"children that go": {[]pipeline.Outcome{{Step: step(pipeline.Delete, "b", version("1"))},
			{Step: step(pipeline.Recreate, "c", version("1"))}}, "deleted Pod b; deleted, to create it again, Pod c"},
		"owners": {[]pipeline.Outcome{written(pipeline.Adopt, "b"), written(pipeline.Release, "c")},
			"adopted Pod b; released Pod c"},
		"other engines": {[]pipeline.Outcome{written(pipeline.ToServerSideApply, "b"),
			written(pipeline.ToDynamicApply, "c")}, "moved to the other apply strategy Pod b, Pod c"},
		"a child in another place": {[]pipeline.Outcome{{Step: pipeline.Step{Op: pipeline.Create, Type: pods,
			Namespace: "other", Name: "b"}, Result: version("1")}}, "created Pod other/b"},
		"what failed": {[]pipeline.Outcome{{Step: step(pipeline.Create, "b", nil), Err: errors.New("no")},
			{Step: step(pipeline.Delete, "c", nil), Err: errors.New("no")}, {Step: step(pipeline.Status, "a", nil),
				Err: errors.New("no")}}, "failed to create Pod b; failed to delete Pod c; failed to update status"},
		"one that has changed": {[]pipeline.Outcome{{Step: step(pipeline.Update, "b", version("1")),
			Conflict: true}}, "left alone, because it has changed since it was observed, Pod b"},
		"one whose name others have": {[]pipeline.Outcome{{Step: step(pipeline.Create, "b", nil), NameConflict: true}}, "left alone, because others own the name, Pod b"},
		"different things in a sync": {[]pipeline.Outcome{written(pipeline.Update, "b"), {Step: step(pipeline.Delete, "c", version("1"))}, onParent(pipeline.Status)}, "updated Pod b; deleted Pod c; updated status"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := describe(web("a"), test.outcomes); got != test.want {
				t.Errorf("it is told as %q, want %q", got, test.want)
			}
		})
	}
}
