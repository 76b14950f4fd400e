// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/leader"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
)

// The API server of another leader may have written later than what the watch cache shows.
func TestObjectsOfTheOwnAPIAreListedConsistently(t *testing.T) {
	lists := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Get("watch") != "true" {
			lists <- query.Get("resourceVersion")
		}
		w.WriteHeader(http.StatusUnprocessableEntity) // as a server without streaming lists
	}))
	defer server.Close()
	own, err := versioned.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	informers := newInformers(own, labels.Everything())
	for _, informer := range []cache.SharedIndexInformer{
		informers.Metacontroller().V1alpha1().CompositeControllers().Informer(),
		informers.Metacontroller().V1alpha1().DecoratorControllers().Informer(),
		informers.Metacontroller().V1alpha1().ControllerRevisions().Informer(),
	} {
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { informer.RunWithContext(ctx) })
		if version := <-lists; version != "" {
			t.Errorf("listed is what there was at version %q or later, want what there is", version)
		}
		stop()
		running.Wait()
	}
}

func TestManagedFieldsAreNotKept(t *testing.T) {
	for _, fresh := range []metav1.Object{&v1alpha1.CompositeController{}, &v1alpha1.DecoratorController{}, &v1alpha1.ControllerRevision{}} {
		fresh.SetUID("a")
		fresh.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "metacontroller"}})
		kept, err := withoutManagedFields(fresh)
		if err != nil || kept.(metav1.Object) != fresh || fresh.GetManagedFields() != nil || fresh.GetUID() != "a" {
			t.Errorf("of a %T, kept is %v, %v", fresh, kept, err)
		}
	}
}

// endedTerm is the term of a process that leads no more.
func endedTerm(t *testing.T) (ended *leader.Term) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	election := leader.New(leader.Config{
		Client: fake.NewClientset().CoordinationV1(), Namespace: "ours", Name: "lease", Process: "one",
	})
	err := election.Run(ctx, "storage", func(_ context.Context, term *leader.Term) error {
		ended = term
		cancel()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ended
}

// What it has written last may still arrive after another one has begun.
func TestAProcessThatLeadsNoMoreWritesToNoAPI(t *testing.T) {
	term := endedTerm(t)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s was sent", r.Method, r.URL.Path) }))
	defer server.Close()
	config := &rest.Config{Host: server.URL, QPS: -1}
	clients, err := newClients(Config{Host: config, Loopback: config}, term)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		_, err = clients.own.MetacontrollerV1alpha1().CompositeControllers().UpdateStatus(t.Context(), &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.UpdateOptions{})
		if !errors.Is(err, leader.ErrNotLeading) {
			t.Fatalf("the error is %v", err)
		}
	}
}
