// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
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

func TestWhatIsSaidOfTakenNames(t *testing.T) {
	holder := func(metadata string) *object.Object {
		holder, err := object.Parse([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"default",` + metadata + `"uid":"u"}}`))
		if err != nil {
			t.Fatal(err)
		}
		return holder
	}
	const (
		owned  = `"ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"db","uid":"s","controller":true}],`
		advice = " exists and is not this object's: it was left alone; delete it, or have the hook choose another name"
		left   = `"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"parent","uid":"former","controller":true}],`
		many   = "these exist and are not this object's: they were left alone; delete them, or have the hook choose other names: "
	)
	tests := map[string]struct {
		outcomes []pipeline.Outcome
		want     string
	}{
		"none is taken":             {[]pipeline.Outcome{{Step: pipeline.Step{Op: pipeline.Create, Type: pods, Name: "a"}}}, "<nil>"},
		"nobody knows by whom":      {[]pipeline.Outcome{nameTaken("a", nil)}, "Pod default/a" + advice},
		"by one that is controlled": {[]pipeline.Outcome{nameTaken("a", holder(owned))}, "Pod default/a (of StatefulSet db)" + advice},
		"by one of nobody":          {[]pipeline.Outcome{nameTaken("a", holder(""))}, "Pod default/a (of no controller)" + advice},
		"by an attachment": {
			[]pipeline.Outcome{nameTaken("a", holder(owned+`"annotations":{"metacontroller.k8s.io/decorator-controller":"deco"},`))},
			"Pod default/a (of DecoratorController deco)" + advice,
		},
		"by one that is left of a former parent": {[]pipeline.Outcome{nameTaken("a", holder(left))}, "<nil>"},
		"by one that is left, and another one":   {[]pipeline.Outcome{nameTaken("a", holder(left)), nameTaken("b", holder(owned))}, "Pod default/b (of StatefulSet db)" + advice},
		"several":                                {[]pipeline.Outcome{nameTaken("b", holder("")), nameTaken("a", holder(owned))}, many + "Pod default/a (of StatefulSet db), Pod default/b (of no controller)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := fmt.Sprint(nameConflictError(test.outcomes, configMap(t, "parent", `"uid":"present"`))); got != test.want {
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
	c := controllerAt(t, config, Dependencies{Hook: hook.Options{MaxResponseBytes: 1000}}, specOf(at(wanting.URL), pods))
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
