// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSelectorOfTheSpec(t *testing.T) {
	tests := map[string]struct{ spec, want string }{
		"labels":                 {`{selector: {matchLabels: {app: shop, tier: web}}}`, "app=shop,tier=web"},
		"expressions":            {`{selector: {matchExpressions: [{key: app, operator: In, values: [a, b]}, {key: x, operator: DoesNotExist}]}}`, "app in (a,b),!x"},
		"labels and expressions": {`{selector: {matchLabels: {app: shop}, matchExpressions: [{key: x, operator: Exists}]}}`, "app=shop,x"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			selector, err := NewLabelClaims(false).selectorOf(parsed(t, `{kind: Web, metadata: {name: shop, namespace: default, uid: u}, spec: `+test.spec+`}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := selector.String(); got != test.want {
				t.Errorf("the selector is %s, want %s", got, test.want)
			}
		})
	}
}

func TestASpecWithoutAUsableSelector(t *testing.T) {
	const empty = "Web default/shop: it has no spec.selector with matchLabels or matchExpressions: set spec.generateSelector: true in the controller, or give it one"
	tests := map[string]struct{ spec, want string }{
		"no spec":             {``, empty},
		"no selector":         {`, spec: {}`, empty},
		"a null":              {`, spec: {selector: null}`, empty},
		"an empty selector":   {`, spec: {selector: {}}`, empty},
		"no labels in it":     {`, spec: {selector: {matchLabels: {}, matchExpressions: []}}`, empty},
		"other fields in it":  {`, spec: {selector: {app: shop}}`, empty},
		"text":                {`, spec: {selector: "app=shop"}`, "Web default/shop: .spec.selector is no label selector: it must be an object, not a JSON string"},
		"a list":              {`, spec: {selector: [1]}`, "Web default/shop: .spec.selector is no label selector: it must be an object, not a JSON array"},
		"a number as a label": {`, spec: {selector: {matchLabels: {app: 1}}}`, "Web default/shop: .spec.selector is no label selector: a JSON number is not allowed in matchLabels"},
		"an unknown operator": {`, spec: {selector: {matchExpressions: [{key: a, operator: Like}]}}`, `Web default/shop: .spec.selector: "Like" is not a valid label selector operator`},
		"no values for In":    {`, spec: {selector: {matchExpressions: [{key: a, operator: In}]}}`, "Web default/shop: .spec.selector: "},
		"a key that is none":  {`, spec: {selector: {matchLabels: {"a b": c}}}`, "Web default/shop: .spec.selector: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			selector, err := NewLabelClaims(false).selectorOf(parsed(t, `{kind: Web, metadata: {name: shop, namespace: default, uid: u}`+test.spec+`}`))
			if err == nil {
				t.Fatalf("the selector is %s", selector)
			}
			if !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error is %q, want it to begin with %q", err, test.want)
			}
		})
	}
}

func TestAGeneratedSelectorIsTheParentsUID(t *testing.T) {
	selectors := NewLabelClaims(true)
	parent := parsed(t, `{kind: Web, metadata: {name: shop, namespace: default, uid: u-1}, spec: {selector: {matchLabels: {app: shop}}}}`)
	selector, err := selectors.selectorOf(parent)
	if err != nil {
		t.Fatal(err)
	}
	if got := selector.String(); got != "controller-uid=u-1" {
		t.Errorf("the selector is %s", got)
	}
	if diff := cmp.Diff(map[string]string{"controller-uid": "u-1"}, selectors.generatedLabels(parent)); diff != "" {
		t.Errorf("generated labels (-want +got):\n%s", diff)
	}
}

func TestNoLabelIsGeneratedForASelectorOfTheSpec(t *testing.T) {
	if got := NewLabelClaims(false).generatedLabels(parsed(t, `{metadata: {uid: u}}`)); got != nil {
		t.Errorf("generated labels are %v", got)
	}
}

func TestASelectorFollowsItsSpec(t *testing.T) {
	selectors := NewLabelClaims(false)
	for _, step := range []struct{ parent, want string }{
		{`{metadata: {name: one, resourceVersion: "1"}, spec: {selector: {matchLabels: {app: one}}}}`, "app=one"},
		{`{metadata: {name: two, resourceVersion: "2"}, spec: {selector: {matchLabels: {app: two}}}}`, "app=two"},
		{`{metadata: {name: one, resourceVersion: "3"}, spec: {selector: {matchLabels: {app: one}}}}`, "app=one"},
		{`{metadata: {name: one, resourceVersion: "4"}, spec: {selector: {matchLabels: {app: three}}}}`, "app=three"},
	} {
		selector, err := selectors.selectorOf(parsed(t, step.parent))
		if err != nil {
			t.Fatal(err)
		}
		if got := selector.String(); got != step.want {
			t.Errorf("the selector of %s is %s", step.parent, got)
		}
	}
	if _, err := selectors.selectorOf(parsed(t, `{metadata: {name: one, resourceVersion: "5"}, spec: {selector: {}}}`)); err == nil {
		t.Error("a selector that was emptied is still used")
	}
}

func TestASelectorIsParsedOnceAndForgotten(t *testing.T) {
	selectors := NewLabelClaims(false)
	parent := `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, resourceVersion: %q}, spec: {selector: {matchLabels: {app: shop}}}}`
	const text = `{"matchLabels":{"app":"shop"}}`
	for _, version := range []string{"1", "2"} {
		if _, err := selectors.selectorOf(parsed(t, fmt.Sprintf(parent, version))); err != nil {
			t.Fatal(err)
		}
		if known := selectors.parsed[name("default", "shop")]; known.text != text || known.version != version {
			t.Errorf("remembered is %q of version %s", known.text, known.version)
		}
	}
	selectors.Forget(name("default", "shop"))
	if len(selectors.parsed) != 0 {
		t.Errorf("still remembered: %v", selectors.parsed)
	}
}

// A sync or an event may come upon a parent that is deleted at the same time.
func TestNothingIsRememberedOfAParentThatIsGone(t *testing.T) {
	observer, _ := observing(t, webs, NewLabelClaims(false), shop)
	gone := parsed(t, `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: gone, namespace: default, uid: u}, spec: {selector: {matchLabels: {app: gone}}}}`)
	if err := observer.Claim(observer.ParentAs(gone)); err != nil {
		t.Fatal(err)
	}
	if err := observer.Claim(observer.Parent(name("default", "shop"))); err != nil {
		t.Fatal(err)
	}
	if known := observer.Claims.(*LabelClaims).parsed; len(known) != 1 || known[name("default", "shop")].text == "" {
		t.Errorf("remembered are %v", known)
	}
}
