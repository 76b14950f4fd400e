// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

func webWith(name, version, app string) *object.Object {
	return &object.Object{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version, Labels: map[string]string{"app": app}}}
}

// While the next store is ready to replace the current one, the current one lists its objects
// again. Next replaces it at once, unless the new list has a change that next has to show.
func TestWhatANewListHoldsUp(t *testing.T) {
	tests := map[string]struct {
		relisted []any
		waits    bool
	}{
		"nothing has changed":                   {[]any{webWith("a", "1", "shop"), webWith("b", "2", "blog")}, false},
		"something has that is not asked for":   {[]any{webWith("a", "1", "shop"), webWith("b", "8", "blog")}, false},
		"something has":                         {[]any{webWith("a", "8", "shop"), webWith("b", "2", "blog")}, true},
		"something is gone":                     {[]any{webWith("b", "2", "blog")}, true},
		"something is new":                      {[]any{webWith("a", "1", "shop"), webWith("b", "2", "blog"), webWith("c", "9", "shop")}, true},
		"something is not to be asked for more": {[]any{webWith("a", "8", "blog"), webWith("b", "2", "blog")}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newInformer(t.Context(), nil, scope{})
			before := s.current
			if err := before.Replace([]any{webWith("a", "1", "shop"), webWith("b", "2", "blog")}, "3"); err != nil {
				t.Fatal(err)
			}
			s.next = &store{informer: s, selection: newSelectorUnion(labels.SelectorFromSet(labels.Set{"app": "shop"})), isListed: true, version: "5", cancel: func() {}}
			s.next.indexer = s.next.newIndexer()
			if err := before.Replace(test.relisted, "9"); err != nil {
				t.Fatal(err)
			}
			if waits := s.current == before; waits != test.waits {
				t.Errorf("it holds up: %v, want %v", waits, test.waits)
			}
		})
	}
}
