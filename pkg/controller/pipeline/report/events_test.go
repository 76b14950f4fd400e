// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
)

// written are the events that a host was sent.
type written chan corev1.Event

// events writes events to a host that takes everything.
func events(t *testing.T, options EventOptions) (*Events, written) {
	t.Helper()
	sent := make(written, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var event corev1.Event
		if err := json.NewDecoder(r.Body).Decode(&event); err != nil || r.Method != http.MethodPost && r.Method != http.MethodPatch {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		if want := "/api/v1/namespaces/" + event.Namespace + "/events"; r.Method == http.MethodPost && r.URL.Path != want {
			t.Errorf("an event of namespace %s is sent to %s", event.Namespace, r.URL.Path)
		}
		sent <- event
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(event)
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	made, err := NewEvents(context.WithoutCancel(t.Context()), config, scheme.Scheme, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Shutdown)
	return made, sent
}

func parent(t *testing.T, name string) *object.Object {
	t.Helper()
	o, err := object.Parse(fmt.Appendf(nil, `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":%q,"namespace":"default","uid":"u","resourceVersion":"7"}}`, name))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// An event about an Event is an Event in turn, about which a controller for Events would have to write the next one.
func TestNoEventIsWrittenAboutAnEvent(t *testing.T) {
	e, sent := events(t, EventOptions{QPS: 100, Burst: 100})
	event := func(apiVersion, name string) *object.Object {
		const manifest = `{"apiVersion":%q,"kind":"Event","metadata":{"name":%q}}`
		about, err := object.Parse(fmt.Appendf(nil, manifest, apiVersion, name))
		if err != nil {
			t.Fatal(err)
		}
		return about
	}
	for _, version := range []string{"v1", "events.k8s.io/v1"} {
		about := event(version, "first")
		e.SyncError(about, errors.New("the chat is down"))
		for _, subject := range []*object.Object{about, parent(t, "child-of-an-event")} {
			e.OfHook(about, subject, pipeline.HookEvent{Reason: "Sent", Message: "it was sent"})
		}
	}
	e.SyncError(event("calendar.example/v1", "party"), errors.New("the chat is down"))
	// Events are sent in their order.
	if first := (<-sent).InvolvedObject; first.Name != "party" {
		t.Errorf("the first event is about %s %s", first.APIVersion, first.Name)
	}
}

func TestEvents(t *testing.T) {
	// As a lister hands it out: without its kind.
	controller := &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "webs", UID: "c"}}
	fleet, err := object.Parse([]byte(`{"apiVersion":"ctl.example/v1","kind":"Fleet","metadata":{"name":"fleet"}}`))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		send func(*Events)
		want string
	}{
		"starting":     {func(e *Events) { e.Starting(controller, "webs") }, "default CompositeController webs: Normal Starting: Starting controller: webs"},
		"started":      {func(e *Events) { e.Started(controller, "webs") }, "default CompositeController webs: Normal Started: Started controller: webs"},
		"stopping":     {func(e *Events) { e.Stopping(controller, "webs") }, "default CompositeController webs: Normal Stopping: Stopping controller: webs"},
		"stopped":      {func(e *Events) { e.Stopped(controller, "webs") }, "default CompositeController webs: Normal Stopped: Stopped controller: webs"},
		"create error": {func(e *Events) { e.CreateError(controller, errors.New("no hooks\ndefined")) }, "default CompositeController webs: Warning CreateError: Cannot create new controller: no hooks defined"},
		"stale credentials": {
			func(e *Events) { e.CredentialsStale(controller, errors.New("Secret is gone")) },
			"default CompositeController webs: Warning CredentialsStale: The server still uses the last valid credentials: " +
				"Secret is gone",
		},
		"no status subresource": {
			func(e *Events) { e.NoStatusSubresource(controller, "webs", "ctl.example/v1, Kind=Web") },
			"default CompositeController webs: Warning SyncError: [webs] The controller does not run: CRD [ctl.example/v1, Kind=Web] does not have subresource 'Status' enabled, so the server cannot write the status of parents; add `subresources: {status: {}}` to the version in the CustomResourceDefinition",
		},
		"sync error":                            {func(e *Events) { e.SyncError(parent(t, "shop"), errors.New("50% of it failed")) }, "default Web shop: Warning SyncError: Sync error: 50% of it failed"},
		"sync error of a cluster-scoped parent": {func(e *Events) { e.SyncError(fleet, errors.New("no")) }, "default Fleet fleet: Warning SyncError: Sync error: no"},
		"name taken": {
			func(e *Events) { e.NameConflict(parent(t, "shop"), errors.New("Pod default/a exists")) },
			"default Web shop: Warning ChildNameTaken: Pod default/a exists",
		},
		"a warning": {
			func(e *Events) {
				e.Warning(parent(t, "shop"), pipeline.Warning{Reason: v1alpha1.ReasonChildOutdated, Message: "Pod default/a differs"})
			},
			"default Web shop: Warning ChildOutdated: Pod default/a differs",
		},
		"a warning of what was chosen": {
			func(e *Events) {
				e.Warning(parent(t, "shop"), pipeline.Warning{Reason: v1alpha1.ReasonChildOutdated, Message: "Pod default/a differs", Chosen: true})
			},
			"default Web shop: Normal ChildOutdated: Pod default/a differs",
		},
		"what is over": {
			func(e *Events) {
				e.SyncRecovered(parent(t, "shop"), &ParentError{Message: "no\n" + strings.Repeat("x", 500)})
			},
			"default Web shop: Normal SyncRecovered: Synced again. Resolved: no " + strings.Repeat("x", 500),
		},
		"a finalizer of which the hook is gone": {
			func(e *Events) { e.NotFinalized(parent(t, "shop"), "x/y", pipeline.NoFinalizeHook) },
			"default Web shop: Warning NotFinalized: Removed the finalizer x/y although the finalize hook has not returned " +
				"\"finalized\": true: the controller no longer has a finalize hook. The children stay as they are; to call the hook when this object is deleted, set spec.hooks.finalize again: the server then adds the finalizer again",
		},
		"a finalizer of which the controller is deleted": {
			func(e *Events) { e.NotFinalized(parent(t, "shop"), "x/y", pipeline.ControllerDeleted) },
			"default Web shop: Warning NotFinalized: Removed the finalizer x/y although the finalize hook has not returned " +
				"\"finalized\": true: the controller is being deleted. The children stay as they are",
		},
		"a finalizer that kept an object": {
			func(e *Events) {
				deleted := *parent(t, "shop")
				deleted.DeletionTimestamp = &metav1.Time{}
				e.NotFinalized(&deleted, "x/y", pipeline.OutsideNamespaces)
			},
			"default Web shop: Warning NotFinalized: Removed the finalizer x/y although the finalize hook has not returned " +
				"\"finalized\": true: the parent is outside the namespaces of the controller",
		},
		"a finalize hook that does not finish": {
			func(e *Events) { e.FinalizeWaiting(parent(t, "shop"), errors.New("100% waits")) },
			"default Web shop: Warning FinalizeWaiting: 100% waits",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			writer, sent := events(t, EventOptions{QPS: 1, Burst: 25})
			test.send(writer)
			event := <-sent
			got := fmt.Sprintf("%s %s %s: %s %s: %s", event.Namespace, event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Type, event.Reason, event.Message)
			if got != test.want {
				t.Errorf("the event is\n%s\nwant\n%s", got, test.want)
			}
			if event.Source.Component != "metacontroller" {
				t.Errorf("it comes from %q", event.Source.Component)
			}
		})
	}
}

func TestAnEventSaysWhichObjectItIsAbout(t *testing.T) {
	writer, sent := events(t, EventOptions{QPS: 1, Burst: 25})
	writer.SyncError(parent(t, "shop"), errors.New("no"))
	want := corev1.ObjectReference{APIVersion: "ctl.example/v1", Kind: "Web", Namespace: "default", Name: "shop", UID: "u", ResourceVersion: "7"}
	if diff := cmp.Diff(want, (<-sent).InvolvedObject); diff != "" {
		t.Errorf("it is about (-want +got):\n%s", diff)
	}
}

// The host refuses an event whose message is longer than 1024 bytes.
func TestALongErrorFitsIntoAnEvent(t *testing.T) {
	writer, sent := events(t, EventOptions{QPS: 1, Burst: 25})
	writer.SyncError(parent(t, "shop"), errors.New(strings.Repeat("ü", 5000)))
	event := <-sent
	if len(event.Message) > 1024 || !strings.Contains(event.Message, "ü…") || !utf8.ValidString(event.Message) {
		t.Errorf("the message has %d bytes: %s", len(event.Message), event.Message)
	}
	writer.CreateError(parent(t, "shop"), errors.New(strings.Repeat("ü", 5000)))
	if event := <-sent; len(event.Message) > 1024 {
		t.Errorf("the message has %d bytes: %s", len(event.Message), event.Message)
	}
	writer.WriteLoop(parent(t, "shop"), []pipeline.WriteLoop{{Object: key("Pod", "", "a"), Path: strings.Repeat("a", 5000)}}, time.Now())
	if event := <-sent; len(event.Message) > 1024 {
		t.Errorf("the message has %d bytes: %s", len(event.Message), event.Message)
	}
}

func TestEventsAboutOneObjectAreBounded(t *testing.T) {
	writer, sent := events(t, EventOptions{QPS: 1e-6, Burst: 3})
	for i := range 8 {
		writer.SyncError(parent(t, "noisy"), fmt.Errorf("error %d", i))
	}
	writer.SyncError(parent(t, "quiet"), errors.New("no"))
	count := map[string]int{}
	for count["quiet"] == 0 { // events are written in their order
		count[(<-sent).InvolvedObject.Name]++
	}
	if diff := cmp.Diff(map[string]int{"noisy": 3, "quiet": 1}, count); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A message that changes its numbers all the time is one message. Others come through beside it.
func TestEachKindOfMessageHasABudget(t *testing.T) {
	writer, sent := events(t, EventOptions{QPS: 1e-6, Burst: 6})
	want := map[string]int{"no answer": 6}
	for i := range 40 {
		writer.SyncError(parent(t, "shop"), fmt.Errorf("no answer after %d ms, see 7f3a%d", i, i))
		other := fmt.Sprintf("no shelf %c%c", 'a'+i/10, 'a'+i%10)
		writer.SyncError(parent(t, "shop"), errors.New(other))
		want["Sync error: "+other] = 1
	}
	writer.Shutdown()
	count := map[string]int{}
	for range len(sent) {
		message := (<-sent).Message
		if strings.Contains(message, "no answer") {
			message = "no answer"
		}
		count[message]++
	}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// More than ten messages that differ only in their numbers become one event, whose message is the
// last one.
func TestOnlyEventsOfOneKindAreCombined(t *testing.T) {
	writer, sent := events(t, EventOptions{QPS: 1, Burst: 25})
	for i := range 12 {
		writer.SyncError(parent(t, "shop"), fmt.Errorf("no answer after %d ms", i))
	}
	writer.SyncError(parent(t, "shop"), errors.New("no answer at all"))
	writer.Shutdown()
	var last []string
	for range len(sent) {
		last = append(last, (<-sent).Message)
	}
	want := []string{"(combined from similar events): Sync error: no answer after 11 ms", "Sync error: no answer at all"}
	if got := last[len(last)-2:]; !slices.Equal(got, want) {
		t.Errorf("the last events are %q, want %q", got, want)
	}
}

func TestEventsThatWereToldAreWrittenBeforeTheEnd(t *testing.T) {
	writer, sent := events(t, EventOptions{QPS: 1, Burst: 25})
	const count = 50
	for i := range count {
		writer.SyncError(parent(t, fmt.Sprint("shop-", i)), errors.New("no"))
	}
	writer.Shutdown()
	if len(sent) != count {
		t.Errorf("%d of %d events were written", len(sent), count)
	}
}

func TestAHostThatDoesNotAnswerDoesNotKeepTheProcess(t *testing.T) {
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer server.Close()
	defer close(over)
	writer, err := NewEvents(t.Context(), &rest.Config{Host: server.URL}, scheme.Scheme, EventOptions{QPS: 1, Burst: 25})
	if err != nil {
		t.Fatal(err)
	}
	writer.SyncError(parent(t, "shop"), errors.New("no"))
	asked := time.Now()
	writer.Shutdown()
	if took := time.Since(asked); took < flushTimeout || took > 10*flushTimeout {
		t.Errorf("it took %s to end, want about %s", took, flushTimeout)
	}
}
