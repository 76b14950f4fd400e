// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package calllog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

func typeOf(resource, kind string, namespaced bool) object.Type {
	return object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: resource}, Kind: kind, Namespaced: namespaced}
}

var began = time.Date(2026, 11, 24, 22, 56, 37, 773_764_999, time.UTC)

// callOf is a call about the Web ns/a.
func callOf(result v1alpha1.HookCallResult, request, answer string) *Call {
	call := &Call{
		Hook: "sync", URL: "http://hooks.example", Began: began, Took: time.Second, Code: 200, Result: result,
		Snapshot: &pipeline.Snapshot{
			ParentType: typeOf("webs", "Web", true), Controller: []byte(`{}`),
			Parent: &object.Object{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Web"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "u"}},
		},
		Request: []byte(request), Answer: []byte(answer),
	}
	if result == v1alpha1.HookCallFailed {
		call.Err, call.Code, call.Answer = io.EOF, 0, nil
	}
	return call
}

func recorderOf(log *Log, name string) *Recorder {
	return log.Of(v1alpha1.ControllerReference{Kind: "CompositeController", Name: name}).Recorder(Owner{
		UID: "c", Namespace: "server", Labels: map[string]string{"name": name},
		Children: []object.Type{typeOf("pods", "Pod", true), typeOf("nodes", "Node", false)},
	})
}

func (r *Recorder) rows() []*v1alpha1.HookCall { return r.controller.rows() }

func TestACallIsShown(t *testing.T) {
	log := New(began)
	r := recorderOf(log, "webs")
	r.Add(callOf(v1alpha1.HookCallSucceeded, `{"controller":{},"parent":{"n":1}}`, `[1]`))
	row := r.rows()[0]
	if row.Namespace != "ns" || row.UID == "" || row.Labels["name"] != "webs" || row.Spec.Parent.UID != "u" ||
		row.Status.Request.Bytes != 34 || row.Status.Request.Object != nil || row.Status.Response.Bytes != 3 {
		t.Errorf("the row is %+v", row)
	}
	found, _ := log.Get(types.NamespacedName{Namespace: "ns", Name: row.Name})
	if found == nil || string(found.Status.Request.Object.Raw) != `{"controller":{},"parent":{"n":1}}` || found.Status.Response.Text != "[1]" {
		t.Errorf("found %+v", found)
	}
	if found, _ := log.Get(types.NamespacedName{Namespace: "other", Name: row.Name}); found != nil {
		t.Errorf("found in another namespace: %+v", found)
	}
}

func TestNamesSortByTimeAndAreUnique(t *testing.T) {
	n, all := names{process: 7}, map[string]bool{}
	for i := range uint64(100) {
		name := n.of(i, began)
		if !strings.HasPrefix(name, "20261124-225637-773764-") || len(name) != len("20261124-225637-773764-abcd") {
			t.Errorf("a name is %s", name)
		}
		all[name] = true
	}
	if len(all) != 100 {
		t.Errorf("there are %d names of 100 calls at the same time", len(all))
	}
	earlier, later := n.of(1, began.Add(-time.Microsecond)), n.of(0, began)
	if earlier >= later {
		t.Errorf("%s is not before %s", earlier, later)
	}
}

func TestCallsThatSucceedDoNotDisplaceThoseThatFailed(t *testing.T) {
	r := recorderOf(New(began), "webs")
	r.Add(callOf(v1alpha1.HookCallFailed, "{}", ""))
	for range 10 * maxCalls {
		r.Add(callOf(v1alpha1.HookCallSucceeded, "{}", "{}"))
		r.Add(callOf(v1alpha1.HookCallThrottled, "{}", ""))
	}
	counts := map[v1alpha1.HookCallResult]int{}
	for _, row := range r.rows() {
		counts[row.Status.Result]++
	}
	if counts[v1alpha1.HookCallFailed] != 1 || counts[v1alpha1.HookCallSucceeded]+counts[v1alpha1.HookCallThrottled] != maxCalls {
		t.Errorf("kept are %v", counts)
	}
}

func TestWhatIsTooLarge(t *testing.T) {
	const most = maxRingBytes / bodiesOfRing
	large := `{"controller":{},"text":"` + strings.Repeat("x", most) + `"}`
	for name, test := range map[string]struct {
		request, answer   string
		request2, answer2 string // what is shown of the request, and of the answer
	}{
		"a large request is cut":              {large, `{}`, large[:most], `{}`},
		"a large answer is cut":               {`{}`, large, `{}`, large[:most]},
		"with a Secret in it, nothing is":     {large + `Secret`, `{}`, "", ""},
		"with a Secret in the other, neither": {large, `{"kind":"Secret"}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			log := New(began)
			r := recorderOf(log, "webs")
			r.Add(callOf(v1alpha1.HookCallSucceeded, test.request, test.answer))
			row := r.rows()[0]
			found, _ := log.Get(types.NamespacedName{Namespace: "ns", Name: row.Name})
			for i, body := range []*v1alpha1.HookCallBody{found.Status.Request, found.Status.Response} {
				whole, want := []string{test.request, test.answer}[i], []string{test.request2, test.answer2}[i]
				got := body.Text
				if body.Object != nil {
					got = string(body.Object.Raw)
				}
				if got != want || (body.Omitted == "") != (want == whole) || body.Bytes != int64(len(whole)) {
					t.Errorf("body %d of %d bytes has %d of them, want %d: %q", i, body.Bytes, len(got), len(want), body.Omitted)
				}
			}
		})
	}
}

func TestSecretsAreBlanked(t *testing.T) {
	const most = maxRingBytes / bodiesOfRing
	address := `{"controller":{"spec":{"hooks":{"sync":{"webhook":{"url":"http://u:open-sesame@h"}}}}},"parent":"`
	for name, test := range map[string]struct{ request, answer, hidden string }{
		"values of Secrets, wherever they are": {`{"children":{"Secret.v1":{"s":{"apiVersion":"v1","kind":"Secret","data":{"k":"aGlkZGVuLXZhbHVl"}}}}}`, `{"status":"hidden-value"}`, "hidden-value"},
		"credentials":                          {`{}`, `{"status":"the-token"}`, "the-token"},
		"what is in addresses of hooks":        {address + `"}`, `{"status":"open-sesame"}`, "open-sesame"},
		"the beginning of one at a cut":        {address + strings.Repeat("x", most-len(address)-5) + "open-sesame\"}", `{}`, "open"},
	} {
		t.Run(name, func(t *testing.T) {
			log := New(began)
			r := recorderOf(log, "webs")
			call := callOf(v1alpha1.HookCallSucceeded, test.request, test.answer)
			call.Credentials = []string{"the-token"}
			call.Snapshot.Controller = object.Lookup(call.Request, "controller")
			r.Add(call)
			found, _ := log.Get(types.NamespacedName{Namespace: "ns", Name: r.rows()[0].Name})
			shown := found.Status.Request.Text + found.Status.Response.Text
			for _, body := range []*v1alpha1.HookCallBody{found.Status.Request, found.Status.Response} {
				if body.Object != nil {
					shown += string(body.Object.Raw)
				}
			}
			if strings.Contains(shown, test.hidden) || shown == "" {
				t.Errorf("it shows %s", shown[max(0, len(shown)-200):])
			}
		})
	}
}

func TestTheRightsToSeeACall(t *testing.T) {
	rights := func(change func(*Call)) []string {
		log := New(began)
		r := recorderOf(log, "webs")
		call := callOf(v1alpha1.HookCallSucceeded, "{}", "{}")
		change(call)
		r.Add(call)
		row := r.rows()[0]
		_, required := log.Get(types.NamespacedName{Namespace: row.Namespace, Name: row.Name})
		var texts []string
		for _, one := range required {
			texts = append(texts, strings.TrimRight(fmt.Sprintf("%s %s %s %s", one.Verb, one.GroupResource, one.Namespace, one.Name), " "))
		}
		return texts
	}
	related := func(of object.Type, namespaces ...string) pipeline.Related {
		group := pipeline.Related{Type: of}
		for _, namespace := range namespaces {
			group.Objects = append(group.Objects, &object.Object{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}})
		}
		return group
	}
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprint("n", i))
	}
	const controller = "get compositecontrollers.metacontroller.k8s.io  webs"
	const revisions = "get controllerrevisions.metacontroller.k8s.io ns"
	for name, test := range map[string]struct {
		change func(*Call)
		want   []string
	}{
		"of a sync hook":      {func(*Call) {}, []string{controller, "get webs ns a", "get pods ns", "get nodes"}},
		"of a customize hook": {func(call *Call) { call.Hook = "customize" }, []string{controller, "get webs ns a"}},
		"with related objects": {func(call *Call) {
			call.Snapshot.Related = []pipeline.Related{related(typeOf("secrets", "Secret", true), "a", "a", "b"), related(typeOf("nodes", "Node", false), "")}
		}, []string{controller, "get webs ns a", "get pods ns", "get nodes", "get secrets a", "get secrets b", "get nodes"}},
		"about an earlier revision": {
			func(call *Call) { call.Snapshot.Revision = "a-1" },
			[]string{controller, "get webs ns a", revisions, "get pods ns", "get nodes"},
		},
		"of a customize hook about an earlier revision": {
			func(call *Call) { call.Hook, call.Snapshot.Revision = "customize", "a-1" },
			[]string{controller, "get webs ns a", revisions},
		},
		"about a cluster-scoped parent": {func(call *Call) { call.Snapshot.Parent.Namespace = "" }, []string{controller, "get webs  a", "get pods", "get nodes"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rights(test.change); !slices.Equal(got, test.want) {
				t.Errorf("required are %q, want %q", got, test.want)
			}
		})
	}
	everywhere := rights(func(call *Call) {
		call.Snapshot.Related = []pipeline.Related{related(typeOf("secrets", "Secret", true), many...)}
	})
	if len(everywhere) != 4+maxPlaces+1 || everywhere[len(everywhere)-1] != "get secrets" {
		t.Errorf("with related objects in many namespaces, required are %q", everywhere)
	}
}

// In the steady state, a call is copied into the place of an old one.
func TestKeepingACallAllocatesNothing(t *testing.T) {
	r := recorderOf(New(began), "webs")
	call := callOf(v1alpha1.HookCallSucceeded, "{"+strings.Repeat(" ", 25_000)+"}", "{"+strings.Repeat(" ", 10_000)+"}")
	call.Snapshot.Related = []pipeline.Related{{Type: typeOf("nodes", "Node", false), Objects: []*object.Object{{}}}}
	for range 2 * maxCalls {
		r.Add(call)
	}
	alloctest.AtMost(t, 0, func() { r.Add(call) })
}

func BenchmarkAdd(b *testing.B) {
	r := recorderOf(New(began), "webs")
	call := callOf(v1alpha1.HookCallSucceeded, "{"+strings.Repeat(" ", 25_000)+"}", "{"+strings.Repeat(" ", 10_000)+"}")
	b.ReportAllocs()
	for b.Loop() {
		r.Add(call)
	}
}

func TestTheBytesOfAProcessAreBounded(t *testing.T) {
	log := New(began)
	body := strings.Repeat("x", 5000)
	used := func() (used int) {
		for _, one := range log.all() {
			used += len(one.succeeded.bytes) + len(one.failed.bytes)
		}
		return used
	}
	for i := range 200 {
		r := recorderOf(log, fmt.Sprint(i))
		for range maxCalls {
			r.Add(callOf(v1alpha1.HookCallSucceeded, body, body))
			r.Add(callOf(v1alpha1.HookCallFailed, body, ""))
		}
		if used() > processBytes {
			t.Fatalf("%d bytes are kept of %d controllers", used(), i+1)
		}
	}
	for i := range 200 {
		log.Forget(v1alpha1.ControllerReference{Kind: "CompositeController", Name: fmt.Sprint(i)})
	}
	if used() != 0 || log.ringBytes.Load() != maxRingBytes {
		t.Errorf("%d bytes are kept of controllers that are gone", used())
	}
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := New(began)
		r := recorderOf(log, "webs")
		r.Add(callOf(v1alpha1.HookCallFailed, "{}", ""))
		ctx, cancel := context.WithCancel(t.Context())
		var told []string
		ended := make(chan error)
		go func() {
			ended <- log.Follow(ctx, func(changed []*v1alpha1.HookCall, gone []types.NamespacedName) error {
				for _, one := range changed {
					told = append(told, "+"+string(one.Status.Result))
				}
				for range gone {
					told = append(told, "-")
				}
				return nil
			})
		}()
		synctest.Wait()
		r.Add(callOf(v1alpha1.HookCallSucceeded, "{}", "{}"))
		<-time.After(time.Second)
		log.Forget(v1alpha1.ControllerReference{Kind: "CompositeController", Name: "webs"})
		<-time.After(time.Second)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if want := []string{"+Failed", "+Succeeded", "-", "-"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

// The next users of the name of a namespace see nothing of the namespace before.
func TestCallsGoWithTheirNamespace(t *testing.T) {
	in := func(namespace string, related ...string) *Call {
		call := callOf(v1alpha1.HookCallSucceeded, "{}", "{}")
		call.Snapshot.Parent.Namespace = namespace
		for _, of := range related {
			call.Snapshot.Related = append(call.Snapshot.Related, pipeline.Related{
				Type:    typeOf("secrets", "Secret", true),
				Objects: []*object.Object{{ObjectMeta: metav1.ObjectMeta{Namespace: of}}},
			})
		}
		return call
	}
	for name, test := range map[string]struct {
		call *Call
		goes bool
	}{
		"of a parent in it":                     {in("gone"), true},
		"of a parent elsewhere":                 {in("ns"), false},
		"of a cluster-scoped parent":            {in(""), false},
		"with a related object in it":           {in("ns", "other", "gone"), true},
		"with a related object elsewhere":       {in("ns", "other"), false},
		"of a parent without namespace with it": {in("", "gone"), true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, result := range []v1alpha1.HookCallResult{v1alpha1.HookCallSucceeded, v1alpha1.HookCallFailed} {
				test.call.Result = result
				log := New(began)
				r := recorderOf(log, "webs")
				r.Add(callOf(result, "{1}", "{}"))
				r.Add(test.call)
				r.Add(callOf(result, "{2}", "{}"))
				want := 3
				if test.goes {
					want--
				}
				deleted := began.Add(time.Second)
				log.ForgetNamespace("gone", deleted)
				if got := len(r.rows()); got != want {
					t.Errorf("%d calls are kept, want %d", got, want)
				}
				r.Add(test.call) // it took until now
				if got := len(r.rows()) == want; got != test.goes {
					t.Errorf("a call that began before the end of the namespace is kept: %v", !got)
				}
				test.call.Began = deleted
				before := len(r.rows())
				if r.Add(test.call); len(r.rows()) != before+1 {
					t.Error("a call in the next namespace of that name is not kept")
				}
				test.call.Began = began
				for _, row := range r.rows() {
					found, _ := log.Get(types.NamespacedName{Namespace: row.Namespace, Name: row.Name})
					if text := found.Status.Request.Text; row.Namespace == "ns" && len(test.call.Snapshot.Related) == 0 &&
						test.goes && text != "{1}" && text != "{2}" {
						t.Errorf("the request of a call is %q", text)
					}
				}
			}
		})
	}
}

func TestWithoutALogNothingIsKept(t *testing.T) {
	var log *Log
	log.Of(v1alpha1.ControllerReference{}).Recorder(Owner{}).Add(callOf(v1alpha1.HookCallSucceeded, "{}", "{}"))
	log.Forget(v1alpha1.ControllerReference{})
}

func TestOfTheControllerOfACallOnlyTheHooksAreKept(t *testing.T) {
	const hooks = `{"spec":{"hooks":{"sync":{"webhook":{"url":"http://u:p@hook/?token=abcdefgh"}}}}}`
	for name, test := range map[string]struct {
		controller, request, want string
		isWithheld                bool
	}{
		"nothing if the request has it":   {controller: hooks, request: "{}"},
		"the hooks if the request is cut": {controller: hooks[:9] + `"a":1,` + hooks[9:], request: long, want: hooks},
		"nothing if there are none":       {controller: `{}`, request: long, want: `{"spec":{"hooks":null}}`},
		"no call if the hooks have much to say": {
			controller: `{"spec":{"hooks":"` + long[:maxHooksBytes] + `"}}`, request: long, isWithheld: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			of := callOf(v1alpha1.HookCallSucceeded, test.request, "{}")
			of.Snapshot.Controller = []byte(test.controller)
			c := New(time.Now()).Of(v1alpha1.ControllerReference{})
			c.Recorder(Owner{}).Add(of)
			kept := c.succeeded.at(0)
			if string(kept.controllerJSON) != test.want || kept.isWithheld != test.isWithheld {
				t.Errorf("kept is %.100s, and it is withheld: %v", kept.controllerJSON, kept.isWithheld)
			}
		})
	}
}

var long = strings.Repeat("x", maxRingBytes)
