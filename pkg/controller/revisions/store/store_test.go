// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
)

// newStore returns a store of an API that cannot be reached.
func newStore(t *testing.T) *Store { return storeOf(t, "http://127.0.0.1:1") }

func storeOf(t *testing.T, api string) *Store {
	t.Helper()
	client, err := versioned.NewForConfig(&rest.Config{Host: api})
	if err != nil {
		t.Fatal(err)
	}
	store, err := New(client, externalversions.NewSharedInformerFactory(client, 0))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func revision(uid types.UID, version string) *v1alpha1.ControllerRevision {
	return &v1alpha1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "r-" + string(uid), UID: uid, ResourceVersion: version,
		OwnerReferences: []metav1.OwnerReference{{UID: "parent", Controller: ptr.To(true)}},
	}}
}

// What was parsed of a revision is used as long as the revision is the same.
func TestAStoredRevisionIsKeptUntilItChanges(t *testing.T) {
	s := newStore(t)
	only := func(what *v1alpha1.ControllerRevision) *revisions.Stored {
		t.Helper()
		if err := s.cache.GetIndexer().Add(what); err != nil {
			t.Fatal(err)
		}
		found, err := s.For("parent", "default")
		if err != nil || len(found) != 1 || found[0].ControllerRevision != what {
			t.Fatalf("found %v, %v", found, err)
		}
		return found[0]
	}
	first, second := revision("a", "1"), revision("a", "2")
	only(first) // before the event handler has seen it
	s.keep(first)
	kept := only(first)
	if only(first) != kept {
		t.Error("the same revision is parsed again each time")
	}
	if only(second) == kept {
		t.Error("what is kept is of an earlier version")
	}
	s.keep(second)
	if kept = only(second); only(second) != kept {
		t.Error("the new version is parsed again each time")
	}
	s.drop(cache.DeletedFinalStateUnknown{Obj: second})
	if len(s.stored) > 0 {
		t.Error("a revision that is gone is kept")
	}
}
