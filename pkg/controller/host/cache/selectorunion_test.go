// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

func TestWhatTheHostIsAskedForSeveralSelectors(t *testing.T) {
	for name, c := range map[string]struct {
		selectors []string
		want      string
	}{
		"one":                                          {[]string{"a=1,b!=2,c,!d"}, "a in (1),b notin (2),c,!d"},
		"the same":                                     {[]string{"a=1", "a in (1)"}, "a in (1)"},
		"values of the same label":                     {[]string{"a=1", "a in (2,3)"}, "a in (1,2,3)"},
		"what all have in common":                      {[]string{"a=1,b=1", "a=1,c=1"}, "a in (1)"},
		"nothing in common":                            {[]string{"a=1", "b=1"}, ""},
		"one wants everything":                         {[]string{"a=1", ""}, ""},
		"all but some":                                 {[]string{"a!=1", "a notin (1,2)"}, "a notin (1)"},
		"some, and all but some":                       {[]string{"a in (1,2)", "a notin (1,3)"}, "a notin (3)"},
		"a value, and its being there":                 {[]string{"a=1", "a"}, "a"},
		"a value, and its not being there":             {[]string{"a=1", "!a"}, ""},
		"there but for a value, and another":           {[]string{"a,a!=1", "a=2"}, "a,a notin (1)"},
		"there and not there":                          {[]string{"a", "!a"}, ""},
		"one selects nothing":                          {[]string{"a=1,a=2", "b=1"}, "b in (1)"},
		"numbers":                                      {[]string{"a>1", "a=3"}, "a"},
		"an empty value":                               {[]string{"a=", "a=1"}, "a in (,1)"},
		"the order does not matter: a value, none and": {[]string{"!a", "a=1", "a!=2"}, "a notin (2)"},
		"too long":                                     {[]string{"a in (" + strings.Repeat("x,", 10) + strings.Repeat("y", 60) + ")", longSelector()}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := unionOfAll(t, c.selectors).selector(); got != c.want {
				t.Errorf("asked for is %q, want %q", got, c.want)
			}
		})
	}
}

func longSelector() string {
	values := make([]string, 300)
	for i := range values {
		values[i] = fmt.Sprint("value-", i)
	}
	return "a in (" + strings.Join(values, ",") + ")"
}

func unionOfAll(t testing.TB, selectors []string) selectorUnion {
	t.Helper()
	var union selectorUnion
	for _, selector := range selectors {
		union = union.or(newSelectorUnion(parsed(t, selector)))
	}
	return union.expressible()
}

// FuzzTheHostIsAskedForAllThatIsSelected makes selectors and objects of a seed.
func FuzzTheHostIsAskedForAllThatIsSelected(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 2))
		selectors := make([]labels.Selector, 1+random.IntN(4))
		var union, reversed selectorUnion
		for i := range selectors {
			selectors[i] = anySelector(t, random)
		}
		for i := range selectors {
			union, reversed = union.or(newSelectorUnion(selectors[i])), reversed.or(newSelectorUnion(selectors[len(selectors)-1-i]))
		}
		asked := union.expressible()
		if !asked.equal(reversed.expressible()) {
			t.Errorf("of %q, asked for is %q in one order and %q in the other", selectors, asked.selector(), reversed.expressible().selector())
		}
		sent := parsed(t, asked.selector())
		for _, selector := range selectors {
			if !asked.covers(newSelectorUnion(selector)) {
				t.Errorf("%q is not known to cover %q", sent, selector)
			}
		}
		for range 40 {
			set := anyLabels(random)
			there := &object.Object{ObjectMeta: metav1.ObjectMeta{Labels: set}}
			if asked.nonEmpty && sent.Matches(set) != asked.includes(there) {
				t.Errorf("%q and its bounds do not agree about %s", sent, set)
			}
			for _, selector := range selectors {
				if selector.Matches(set) && !asked.includes(there) {
					t.Errorf("%s is selected by %q and not by %q", set, selector, sent)
				}
				if narrow := newSelectorUnion(selector); len(selectors) == 1 && !hasNumbers(selector) && narrow.includes(there) != selector.Matches(set) {
					t.Errorf("%q alone, but asked for is %q", selector, narrow.selector())
				}
			}
		}
	})
}

func anySelector(t *testing.T, random *rand.Rand) labels.Selector {
	t.Helper()
	requirements := make([]string, random.IntN(4))
	for i := range requirements {
		key, value, other := string(rune('a'+random.IntN(3))), fmt.Sprint(random.IntN(4)), fmt.Sprint(random.IntN(4))
		forms := []string{key + "=" + value, key + "!=" + value, key, "!" + key, key + " in (" + value + "," + other + ")",
			key + " notin (" + value + "," + other + ")", key + "=", key + " in (," + value + ")", key + ">" + value, key + "<" + value}
		requirements[i] = forms[random.IntN(len(forms))]
	}
	return parsed(t, strings.Join(requirements, ","))
}

func hasNumbers(selector labels.Selector) bool { return strings.ContainsAny(selector.String(), "<>") }

func anyLabels(random *rand.Rand) labels.Set {
	set := labels.Set{}
	for _, key := range []string{"a", "b", "c"} {
		switch value := random.IntN(7); {
		case value < 5:
			set[key] = fmt.Sprint(value)
		case value == 5:
			set[key] = ""
		}
	}
	return set
}
