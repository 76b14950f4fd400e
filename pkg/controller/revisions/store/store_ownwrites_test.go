// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"testing"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// storing is a store of an API that makes version 200 of what it is sent.
func storing(t *testing.T) *Store {
	api := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		var answer any = metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess}
		if request.Method != http.MethodDelete {
			var sent v1alpha1.ControllerRevision
			body, err := io.ReadAll(request.Body)
			if err != nil || json.Unmarshal(body, &sent) != nil {
				t.Errorf("was sent %q, %v", body, err)
			}
			sent.ResourceVersion = "200"
			answer = sent
		}
		response.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(response).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(api.Close)
	return storeOf(t, api.URL)
}

func (s *Store) write(t *testing.T, pending *OwnWrites, op pipeline.Op, revision *v1alpha1.ControllerRevision) {
	t.Helper()
	if err := s.Write(t.Context(), pending, revisions.Write{Op: op, Revision: revision}); err != nil {
		t.Fatal(err)
	}
}

func (s *Store) show(t *testing.T, revision *v1alpha1.ControllerRevision) {
	t.Helper()
	if err := s.cache.GetIndexer().Update(revision); err != nil {
		t.Fatal(err)
	}
}

func TestARevisionIsPendingUntilTheCacheShowsIt(t *testing.T) {
	for shown, now := range map[string]*v1alpha1.ControllerRevision{
		"it is there":                  revision("a", "200"),
		"what is later is there":       revision("other", "201"),
		"versions that are no numbers": revision("other", "x"),
	} {
		for _, op := range []pipeline.Op{pipeline.Create, pipeline.Update} {
			t.Run(shown+" after "+string(op), func(t *testing.T) {
				s := storing(t)
				s.show(t, revision("other", "199"))
				var pending OwnWrites
				s.write(t, &pending, op, revision("a", ""))
				if s.DropSeen(&pending) {
					t.Fatal("the cache cannot show it yet")
				}
				s.show(t, now)
				if !s.DropSeen(&pending) {
					t.Error("it is still pending")
				}
			})
		}
	}
}

func TestADeletedRevisionIsPendingUntilTheCacheShowsThat(t *testing.T) {
	going := revision("a", "201")
	going.DeletionTimestamp = &metav1.Time{}
	another := revision("a", "201")
	another.UID = "b"
	for shown, show := range map[string]func(t *testing.T, s *Store){
		"it is gone": func(t *testing.T, s *Store) {
			if err := s.cache.GetIndexer().Delete(revision("a", "201")); err != nil {
				t.Fatal(err)
			}
		},
		"it is going":             func(t *testing.T, s *Store) { s.show(t, going) },
		"another has come for it": func(t *testing.T, s *Store) { s.show(t, another) },
	} {
		t.Run(shown, func(t *testing.T) {
			s := storing(t)
			s.show(t, revision("a", "100"))
			var pending OwnWrites
			s.write(t, &pending, pipeline.Delete, revision("a", "100"))
			if s.DropSeen(&pending) {
				t.Fatal("the cache still shows it")
			}
			show(t, s)
			if !s.DropSeen(&pending) {
				t.Error("it is still pending")
			}
		})
	}
}

// Where many parents are new, that would be all that is kept of them, once more.
func TestAPendingWriteDoesNotHoldTheRevision(t *testing.T) {
	for _, op := range []pipeline.Op{pipeline.Create, pipeline.Update, pipeline.Delete} {
		t.Run(string(op), func(t *testing.T) {
			var pending OwnWrites
			written := revision("a", "200")
			held := weak.Make(written)
			pending.add(op, written)
			runtime.GC()
			if held.Value() != nil {
				t.Error("it is held")
			}
			runtime.KeepAlive(&pending)
		})
	}
}

func TestFollowersLearnOfRevisionsThatOthersCreate(t *testing.T) {
	s := storing(t)
	var told []string
	stop := s.Follow(func(of *v1alpha1.ControllerRevision) { told = append(told, string(of.UID)) })
	refused := newStore(t)
	defer refused.Follow(func(of *v1alpha1.ControllerRevision) { told = append(told, "refused "+string(of.UID)) })()

	s.added(revision("before the start", "1"), true)
	s.write(t, &OwnWrites{}, pipeline.Create, revision("own", "2"))
	s.added(revision("own", "2"), false)
	s.added(revision("restored", "3"), false)
	s.added(revision("own", "4"), false) // it was deleted, and others have created it again
	write := revisions.Write{Op: pipeline.Create, Revision: revision("a", "5")}
	if err := refused.Write(t.Context(), &OwnWrites{}, write); err == nil {
		t.Error("a revision is created without an API")
	}
	refused.added(revision("a", "5"), false)
	stop()
	s.added(revision("later", "6"), false)
	if want := []string{"restored", "own", "refused a"}; !slices.Equal(told, want) {
		t.Errorf("followers learn of %q, want %q", told, want)
	}
}
