// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// state returns a state of an object. The text is its name, its owner and its content, such as
// "a p 1". No text is no object.
func state(text string) *object.Object {
	parts := strings.Fields(text)
	if len(parts) == 0 {
		return nil
	}
	o := &object.Object{ObjectMeta: metav1.ObjectMeta{Name: parts[0], ResourceVersion: text}}
	if parts[1] != "-" {
		o.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(parts[1])}}
	}
	o.Hash = uint64(parts[2][0])
	return o
}

func TestABacklogJoinsTheChangesOfAnObject(t *testing.T) {
	for name, test := range map[string]struct{ states, want []string }{
		"one change":                          {[]string{"a p 1", "a p 2"}, []string{"a p 1 -> a p 2"}},
		"changes of the content":              {[]string{"a p 1", "a p 2", "a p 3", "a p 4"}, []string{"a p 1 -> a p 4"}},
		"an object that is new":               {[]string{"", "a p 1", "a p 2"}, []string{" -> a p 2"}},
		"an object that goes":                 {[]string{"a p 1", "a p 2", ""}, []string{"a p 1 -> a p 2", "a p 2 -> "}},
		"an object that comes and goes":       {[]string{"", "a p 1", ""}, []string{" -> a p 1", "a p 1 -> "}},
		"an object that is made anew":         {[]string{"a p 1", "", "a p 2"}, []string{"a p 1 -> ", " -> a p 2"}},
		"made anew again and again":           {[]string{"", "a p 1", "", "a p 2", "", "a p 3", "", "a p 4"}, []string{" -> a p 4"}},
		"an owner in between":                 {[]string{"a p 1", "a q 2", "a r 3"}, []string{"a p 1 -> a q 2", "a q 2 -> a r 3"}},
		"an owner in between, and then none":  {[]string{"a - 1", "a q 2", ""}, []string{"a - 1 -> a q 2", "a q 2 -> "}},
		"owners that take turns":              {[]string{"a p 1", "a q 2", "a p 3", "a q 4", "a p 5", "a q 6"}, []string{"a p 1 -> a p 5", "a p 5 -> a q 6"}},
		"content that is as it was":           {[]string{"a p 1", "a p 2", "a p 1"}, []string{"a p 1 -> a p 2", "a p 2 -> a p 1"}},
		"made anew as it was":                 {[]string{"a p 1", "", "a p 1", "", "a p 1", "", "a p 1", ""}, []string{"a p 1 -> ", " -> a p 1", "a p 1 -> "}},
		"content that is as it was, and then": {[]string{"a p 1", "a p 2", "a p 1", "a p 3"}, []string{"a p 1 -> a p 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			var b backlog
			states := make([]*object.Object, len(test.states))
			for i, text := range test.states {
				states[i] = state(text)
				if i > 0 {
					b.add(states[i-1], states[i])
				}
			}
			if got := calls(b); !slices.Equal(got, test.want) {
				t.Errorf("the handler is called for %q, want %q", got, test.want)
			}
		})
	}
}

// A filter is asked about each change, so that a backlog may get only some of them.
func TestABacklogKeepsAChangeBesideOnesThatDoNotPass(t *testing.T) {
	var b backlog
	b.add(state("a - 1"), state("a p 2"))
	b.add(state("a r 3"), state("a q 4")) // the change from p to r did not pass
	if got, want := calls(b), []string{"a - 1 -> a p 2", "a p 2 -> a r 3", "a r 3 -> a q 4"}; !slices.Equal(got, want) {
		t.Errorf("the handler is called for %q, want %q", got, want)
	}
}

func TestABacklogIsBoundedByTheNumberOfObjects(t *testing.T) {
	var b backlog
	names := []string{"a", "b", "c"}
	former := map[string]*object.Object{}
	for i := range 10_000 {
		name := names[i%len(names)]
		next := state(fmt.Sprintf("%s %s %c", name, []string{"p", "q"}[i/7%2], rune('0'+i%50)))
		if i%11 == 0 {
			next = nil
		}
		if former[name] != nil || next != nil {
			b.add(former[name], next)
		}
		former[name] = next
	}
	if len(b.inOrder) != len(names) {
		t.Errorf("there are %d histories, want %d", len(b.inOrder), len(names))
	}
	for _, h := range b.inOrder {
		if len(h.states) > 8 {
			t.Errorf("a history has %d states", len(h.states))
		}
	}
}

// calls returns what a handler is called for.
func calls(b backlog) (calls []string) {
	for _, h := range b.inOrder {
		for i, before := range h.states[:len(h.states)-1] {
			calls = append(calls, versionOf(before)+" -> "+versionOf(h.states[i+1]))
		}
	}
	return calls
}

func versionOf(o *object.Object) string {
	if o == nil {
		return ""
	}
	return o.ResourceVersion
}

// A heartbeat in an annotation makes each state differ from all others.
func TestABacklogIsBoundedForAnObjectWithEverNewAnnotations(t *testing.T) {
	var b backlog
	former := state("a p 1")
	for i := range 1000 {
		next := state(fmt.Sprintf("a p %c", rune('0'+i%50)))
		next.Annotations = map[string]string{"heartbeat": fmt.Sprint(i)}
		b.add(former, next)
		former = next
	}
	states := b.inOrder[0].states
	if len(states) > maxStates {
		t.Errorf("the history has %d states", len(states))
	}
	if states[0].ResourceVersion != "a p 1" || states[len(states)-1] != former {
		t.Errorf("it begins with %v and ends with %v", states[0], states[len(states)-1])
	}
}
