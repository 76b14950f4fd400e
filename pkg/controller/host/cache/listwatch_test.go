// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "testing"

// An answer from the watch cache of a kube-apiserver may be older than what this process, or the
// leader before it, has written.
func TestWhereListsAreNotStreamedTheyAreConsistent(t *testing.T) {
	fake, client := newFakeHost(t)
	fake.items = thing("a", "4", "")
	view := NewInformers(t.Context(), client, 0).Acquire(things)
	if err := view.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	fake.mu.Lock()
	defer fake.mu.Unlock()
	if len(fake.lists) == 0 {
		t.Error("nothing was listed")
	}
	for _, query := range fake.lists {
		if query.Get("resourceVersion") != "" || query.Has("resourceVersionMatch") {
			t.Errorf("listed is %v, which lets the host answer with former objects", query)
		}
		if query.Get("limit") == "" {
			t.Errorf("listed is %v, want it in pages", query)
		}
	}
}
