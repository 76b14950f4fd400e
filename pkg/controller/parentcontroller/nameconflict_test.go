// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/status"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
)

func TestWhatFreesAName(t *testing.T) {
	const owned = `"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true}]`
	tests := map[string]struct {
		before, after string // metadata; "" is no object
		frees         bool
	}{
		"its holder goes":                      {`"labels":{}`, "", true},
		"its holder gets other labels":         {`"labels":{}`, `"labels":{"a":"b"}`, true},
		"its holder loses its owner":           {owned, `"labels":{}`, true},
		"its holder comes":                     {"", `"labels":{}`, false},
		"its holder changes in another way":    {`"resourceVersion":"1",` + owned, `"resourceVersion":"2","annotations":{"a":"b"},` + owned, false},
		"its holder is there for a long while": {owned, owned, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			web := web("web")
			conflicts := newNameConflicts()
			conflicts.set(web, []object.Key{child("ConfigMap", "default", "a")})
			var before, after *object.Object
			if test.before != "" {
				before = configMap(t, "a", test.before)
			}
			if test.after != "" {
				after = configMap(t, "a", test.after)
			}
			if got := conflicts.parentsToRetry(before, after); slices.Contains(got, web) != test.frees || len(got) > 1 {
				t.Errorf("woken are %v, want the parent: %v", got, test.frees)
			}
			if got := conflicts.parentsToRetry(configMap(t, "b", `"labels":{}`), nil); len(got) > 0 {
				t.Errorf("another name wakes %v", got)
			}
		})
	}
}

func TestWhoWaitsForAName(t *testing.T) {
	named := func(name string) object.Key { return child("ConfigMap", "default", name) }
	one, two := web("one"), web("two")
	conflicts := newNameConflicts()
	expect := func(child string, want ...object.Key) {
		t.Helper()
		holder := configMap(t, child, `"uid":"u"`)
		got := conflicts.parentsToRetry(holder, nil)
		slices.SortFunc(got, func(a, b object.Key) int { return strings.Compare(a.Name, b.Name) })
		if !slices.Equal(got, want) {
			t.Errorf("those who wait for %s are %v, want %v", child, got, want)
		}
		if wanted := conflicts.isWanted(holder); wanted != (len(want) > 0) {
			t.Errorf("somebody waits for %s: %v, want %v", child, wanted, !wanted)
		}
	}
	expect("a")
	conflicts.set(one, []object.Key{named("a"), named("b")})
	conflicts.set(two, []object.Key{named("a")})
	expect("a", one, two)
	expect("b", one)
	conflicts.set(one, []object.Key{named("b")})
	expect("a", two)
	conflicts.set(one, nil)
	conflicts.set(two, nil)
	expect("a")
	expect("b")
	if len(conflicts.byParent) > 0 || len(conflicts.wantedBy) > 0 {
		t.Errorf("left are %v and %v", conflicts.byParent, conflicts.wantedBy)
	}
}

func TestNamesThatChildrenCouldNotGet(t *testing.T) {
	of := func(op pipeline.Op, name string, nameConflict, conflict bool) pipeline.Outcome {
		return pipeline.Outcome{Step: pipeline.Step{Op: op, Type: pods, Namespace: "default", Name: name}, NameConflict: nameConflict, Conflict: conflict}
	}
	missed := missedNames([]pipeline.Outcome{
		of(pipeline.Create, "created", false, false),
		of(pipeline.Create, "taken", true, false),
		of(pipeline.Create, "free-by-now", false, true),
		of(pipeline.Update, "changed-meanwhile", false, true),
	})
	if want := []object.Key{child("Pod", "default", "taken"), child("Pod", "default", "free-by-now")}; !slices.Equal(missed, want) {
		t.Errorf("missed are %v, want %v", missed, want)
	}
}

func nameTaken(name string, holder *object.Object) pipeline.Outcome {
	return pipeline.Outcome{
		Step: pipeline.Step{Op: pipeline.Create, Type: pods, Namespace: "default", Name: name}, NameConflict: true, Holder: holder,
	}
}

// No message advises to delete an object: it may hold the only copy of a user's data.
func TestWhatIsSaidOfTakenNames(t *testing.T) {
	holder := func(metadata string) *object.Object {
		holder, err := object.Parse([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"default",` + metadata + `"uid":"u"}}`))
		if err != nil {
			t.Fatal(err)
		}
		return holder
	}
	taken := func(names string, holder *object.Object) (all []pipeline.Outcome) {
		for name := range strings.SplitSeq(names, " ") {
			all = append(all, nameTaken(name, holder))
		}
		return all
	}
	const (
		owned = `"ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"db","uid":"s","controller":true}],`
		left  = `"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"parent","uid":"former","controller":true}],`
		by    = `"kind":"ConfigMap","name":"parent","controller":true`
		older = `"ownerReferences":[{"apiVersion":"v1beta1","uid":"former",` + by + `}],`
		ours  = `"ownerReferences":[{"apiVersion":"v1","uid":"present",` + by + `}],`
		deco  = `"annotations":{"metacontroller.k8s.io/decorator-controller":"deco"},`

		alone    = " exists and is not this object's child, so the server did not change it; "
		another  = "make the hook choose another name"
		several  = "these objects exist and are not this object's children, so the server did not change them: "
		others   = "; otherwise make the hook choose other names"
		adopt    = "kubectl metacontroller adopt -n default configmaps/parent"
		unmarked = adopt + " --unmarked" // of those that no controller seems to have made
		does     = " does this for all children)"
		done     = " (" + adopt + does + "; otherwise " + another
		relabel  = "to make it a child, run kubectl -n default label --overwrite pods/a controller-uid=present" + done
		annotate = "to make it a child, run kubectl -n default annotate --overwrite pods/a " +
			"metacontroller.k8s.io/decorator-controller=badges" + done
	)
	composite := pipeline.Snapshot{Selector: labels.SelectorFromSet(labels.Set{"controller-uid": "present"})}
	decorator := pipeline.Snapshot{
		Selector: labels.Everything(), GeneratedAnnotations: map[string]string{object.DecoratorAnnotation: "badges"},
	}
	selecting := func(expression string) pipeline.Snapshot {
		selector, err := labels.Parse(expression)
		if err != nil {
			t.Fatal(err)
		}
		return pipeline.Snapshot{Selector: selector}
	}
	long := strings.Repeat("x", 200)
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	tests := map[string]struct {
		of       pipeline.Snapshot
		outcomes []pipeline.Outcome
		want     string
	}{
		"none is taken": {
			composite, []pipeline.Outcome{{Step: pipeline.Step{Op: pipeline.Create, Type: pods, Name: "a"}}}, "<nil>",
		},
		"it is not known by whom": {composite, taken("a", nil), "Pod default/a" + alone + another},
		"by one that is controlled": {
			composite, taken("a", holder(owned)), "Pod default/a (of StatefulSet db)" + alone + another,
		},
		"by one without a controller": {
			composite, taken("a", holder("")), "Pod default/a (of no controller)" + alone +
				strings.Replace(relabel, adopt, unmarked, 1),
		},
		"by one that is restored for a parent with another UID": {
			composite, taken("a", holder(`"labels":{"controller-uid":"former"},`)),
			"Pod default/a (of no controller; its label controller-uid is the UID of another parent, such as a former one)" +
				alone + relabel,
		},
		"by one that is being deleted": {
			composite, taken("a", holder(`"deletionTimestamp":"2026-01-01T00:00:00Z",`)),
			"Pod default/a (of no controller; it is being deleted)" + alone + another,
		},
		"by an attachment of the same parent": {
			composite, taken("a", holder(ours+deco+`"labels":{"controller-uid":"present"},`)),
			"Pod default/a (of this object, created by DecoratorController deco)" + alone + "to make it a child, run " +
				"kubectl -n default annotate pods/a metacontroller.k8s.io/decorator-controller-" + done,
		},
		"by an attachment of another": {
			composite, taken("a", holder(owned+deco)),
			"Pod default/a (of StatefulSet db, created by DecoratorController deco)" + alone + another,
		},
		"by one that the selector of the parent does not match": {
			selecting("app=web,tier in (front)"), taken("a", holder(`"labels":{"app":"web"},`)),
			"Pod default/a (of no controller)" + alone +
				"to make it a child, run kubectl -n default label --overwrite pods/a tier=front (" + unmarked + does + "; otherwise " + another,
		},
		"by one that no label can have matched": {
			selecting("app=web,!legacy"), taken("a", holder(`"labels":{"legacy":"yes"},`)),
			"Pod default/a (of no controller)" + alone + another,
		},
		"by one that is left of a former parent":           {composite, taken("a", holder(left)), "<nil>"},
		"by one that is left of a former parent's version": {composite, taken("a", holder(older)), "<nil>"},
		"by one that is left, and another one": {
			composite, append(taken("a", holder(left)), nameTaken("b", holder(owned))),
			"Pod default/b (of StatefulSet db)" + alone + another,
		},
		"a decorator's, by what a composite made": {
			decorator, taken("a", holder(ours)),
			"Pod default/a (of this object, created by a CompositeController)" + alone + annotate,
		},
		"a decorator's, by what another one made": {
			decorator, taken("a", holder(ours+deco)),
			"Pod default/a (of this object, created by DecoratorController deco)" + alone + annotate,
		},
		"a decorator's, by one without a controller": {
			decorator, taken("a", holder("")),
			"Pod default/a (of no controller)" + alone + "to make it a child, run " + unmarked + "; otherwise " + another,
		},
		"several, of which not all can be taken over": {
			composite, append(taken("b c", holder("")), nameTaken("a", holder(owned))),
			several + "Pod default/a (of StatefulSet db), Pod default/b (of no controller), Pod default/c (of no controller); " +
				"to make them children, run kubectl -n default label --overwrite pods/b pods/c controller-uid=present (" + unmarked + does + others,
		},
		"more than a message has room for": {
			composite, taken(long+"x "+long+"y", holder("")),
			several + "Pod default/" + long + "x (of no controller), Pod default/" + long + "y (of no controller); " +
				"to make them children, run " + unmarked + others,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.of.Parent = configMap(t, "parent", `"uid":"present"`)
			test.of.ParentType = object.Type{GroupVersionResource: configMaps, Kind: "ConfigMap"}
			if got := fmt.Sprint(nameConflictError(test.outcomes, &test.of)); got != test.want {
				t.Errorf("it says\n%s, want\n%s", got, test.want)
			}
		})
	}
}

// The host may say that a name is free before the watch shows it. The event of the watch must then
// enqueue the parent, because the next retry may be far away.
func TestANameThatIsFreeByNowIsWaitedFor(t *testing.T) {
	wanting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}]}`)
	}))
	t.Cleanup(wanting.Close)
	config, _ := hostOf(t)
	c := controllerAt(t, config, Dependencies{Hook: hook.Options{Limits: hook.Limits{MaxResponseBytes: 1000}}}, specOf(at(wanting.URL), pods))
	if result := c.sync(t.Context(), web("a"), syncqueue.ParentChanged); result.Within(time.Minute) != syncqueue.Backoff(0).Within(time.Minute) {
		t.Fatalf("the result is %v, want one that is tried again", result)
	}
	holder, err := object.Parse([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","namespace":"default"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if freed := c.nameConflicts.parentsToRetry(holder, nil); !slices.Equal(freed, []object.Key{web("a")}) {
		t.Errorf("the end of the holder wakes %v, want the parent", freed)
	}
}

// Retries find the same name conflicts. An event for each retry would use up the events that a
// parent may have.
func TestTakenNamesAreToldOnce(t *testing.T) {
	config, sent := hostOf(t)
	events, err := report.NewEvents(context.WithoutCancel(t.Context()), config, scheme.Scheme, report.EventOptions{QPS: 1, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Shutdown)
	c := &Controller{reporter: &status.Reporter{Events: events}}
	state, parent := &parentState{}, configMap(t, "parent", `"uid":"u"`)
	outcomes := []pipeline.Outcome{nameTaken("b", nil), nameTaken("a", nil)}
	for range 3 {
		c.reporter.NameConflicts(&state.reported, parent, nameConflictError(outcomes, &pipeline.Snapshot{Parent: parent}))
		slices.Reverse(outcomes)
	}
	c.reporter.NameConflicts(&state.reported, parent, nil)
	events.SyncError(parent, errors.New("the end"))
	event := <-sent
	if event.Reason != "ChildNameTaken" || !strings.Contains(event.Message, ": Pod default/a, Pod default/b; ") {
		t.Errorf("the event is %s: %s", event.Reason, event.Message)
	}
	if event := <-sent; event.Reason != "SyncError" {
		t.Errorf("there is another event %s: %s", event.Reason, event.Message)
	}
}
