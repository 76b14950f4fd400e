// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
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
		"nothing":                    {nil, ""},
		"a child and the status":     {[]pipeline.Outcome{written(pipeline.Update, "b"), onParent(pipeline.Status)}, "updated Pod b, status"},
		"other parts of the parent":  {[]pipeline.Outcome{onParent(pipeline.Metadata), onParent(pipeline.Finalizer)}, "updated labels and annotations, finalizers"},
		"the last finalizer":         {[]pipeline.Outcome{{Step: pipeline.Step{Op: pipeline.Finalizer, Type: webs, Namespace: "default", Name: "a", Observed: leaving("ours")}, Result: leaving()}}, "updated finalizers"},
		"a child that is kept":       {[]pipeline.Outcome{written(pipeline.Keep, "b")}, ""},
		"a child that was made":      {[]pipeline.Outcome{{Step: step(pipeline.Create, "b", nil), Result: version("1")}, {Step: step(pipeline.Apply, "c", nil), Result: version("1")}}, "created Pod b, Pod c"},
		"an apply that changed it":   {[]pipeline.Outcome{written(pipeline.Apply, "b")}, "updated Pod b"},
		"one that changed nothing":   {[]pipeline.Outcome{{Step: step(pipeline.Apply, "b", version("1")), Result: version("1")}}, ""},
		"one that wrote nothing":     {[]pipeline.Outcome{{Step: step(pipeline.Update, "b", version("1"))}}, ""},
		"children that go":           {[]pipeline.Outcome{{Step: step(pipeline.Delete, "b", version("1"))}, {Step: step(pipeline.Recreate, "c", version("1"))}}, "deleted Pod b; deleted, to create it again, Pod c"},
		"owners":                     {[]pipeline.Outcome{written(pipeline.Adopt, "b"), written(pipeline.Release, "c")}, "adopted Pod b; released Pod c"},
		"other engines":              {[]pipeline.Outcome{written(pipeline.ToServerSideApply, "b"), written(pipeline.ToDynamicApply, "c")}, "moved to the other way of applying Pod b, Pod c"},
		"a child in another place":   {[]pipeline.Outcome{{Step: pipeline.Step{Op: pipeline.Create, Type: pods, Namespace: "other", Name: "b"}, Result: version("1")}}, "created Pod other/b"},
		"what failed":                {[]pipeline.Outcome{{Step: step(pipeline.Create, "b", nil), Err: errors.New("no")}, {Step: step(pipeline.Delete, "c", nil), Err: errors.New("no")}, {Step: step(pipeline.Status, "a", nil), Err: errors.New("no")}}, "failed to create Pod b; failed to delete Pod c; failed to update status"},
		"one that has changed":       {[]pipeline.Outcome{{Step: step(pipeline.Update, "b", version("1")), Conflict: true}}, "left alone, because it has changed meanwhile, Pod b"},
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

func TestSyncsAreLoggedInTheDeveloperMode(t *testing.T) {
	for name, developer := range map[string]bool{"with it": true, "without it": false} {
		t.Run(name, func(t *testing.T) {
			config, _ := hostOf(t)
			wanting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}]}`)
			}))
			defer wanting.Close()
			c := controllerAt(t, config, Dependencies{
				DeveloperMode: developer, Metrics: prometheus.NewRegistry(), Hook: hook.Options{MaxResponseBytes: 1 << 20},
			}, specOf(at(wanting.URL), pods))
			var lines []string
			logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
			c.sync(klog.NewContext(t.Context(), logger), web("a"), syncqueue.ParentChanged)
			var want []string
			if developer {
				want = []string{`"level"=0 "msg"="Web default/a: did not create, because its name was taken a moment ago, Pod b; left alone, because it has changed meanwhile, status"`}
			}
			if !slices.Equal(lines, want) {
				t.Errorf("the log says %q, want %q", lines, want)
			}
		})
	}
}

func TestTheDeveloperModeTellsTheSameEachTime(t *testing.T) {
	for name, test := range map[string]struct {
		developer bool
		want      []string
	}{
		"with it":    {true, []string{"UnknownField", "DuplicateChild", "UnknownField", "DuplicateChild"}},
		"without it": {false, []string{"UnknownField", "DuplicateChild"}},
	} {
		t.Run(name, func(t *testing.T) {
			config, sent := hostOf(t)
			events, err := report.NewEvents(context.WithoutCancel(t.Context()), config, scheme.Scheme, report.EventOptions{QPS: 1, Burst: 10})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(events.Shutdown)
			c := &Controller{Dependencies: Dependencies{Events: events, DeveloperMode: test.developer}, health: newSyncHealth()}
			state, parent := &parentState{}, configMap(t, "parent", `"uid":"u"`)
			for range 2 {
				c.reportFindings(state, parent, []pipeline.Warning{
					{Reason: pipeline.UnknownField, Message: "a field"}, {Reason: pipeline.DuplicateChild, Message: "Pod b"},
				}, 0)
			}
			events.SyncError(parent, errors.New("the end"))
			for _, reason := range append(test.want, "SyncError") {
				if event := <-sent; event.Reason != reason {
					t.Errorf("the event is %s, want %s", event.Reason, reason)
				}
			}
		})
	}
}

func TestTheDeveloperModeShowsWholeErrors(t *testing.T) {
	long := errors.New(strings.Repeat("x", 20_000))
	c := &Controller{}
	if text := c.truncate(long).Error(); len(text) > maxErrorLength+len("…") {
		t.Errorf("without it, %d bytes are shown", len(text))
	}
	c.DeveloperMode = true
	if text := c.truncate(long).Error(); text != long.Error() {
		t.Errorf("%d bytes are shown, want all", len(text))
	}
}
