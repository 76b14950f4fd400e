// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

var (
	configMaps = object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true}
	secrets    = object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Kind: "Secret", Namespaced: true}
	namespaces = object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Kind: "Namespace"}
)

// resolve finds the types above.
func resolve(_ context.Context, apiVersion, resource string) (object.Type, error) {
	for _, of := range []object.Type{configMaps, secrets, namespaces} {
		if of.GroupVersion().String() == apiVersion && of.Resource == resource {
			return of, nil
		}
	}
	return object.Type{}, &discovery.UnknownTypeError{APIVersion: apiVersion, Resource: resource}
}

func parsed(t testing.TB, text string) *object.Object {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	o, err := object.Parse(raw)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return o
}

// selector parses "a=b"; "" selects everything and nil is none.
func selector(t testing.TB, text *string) labels.Selector {
	t.Helper()
	if text == nil {
		return nil
	}
	parsed, err := labels.Parse(*text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

var (
	inNamespace   = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: own, uid: u}}`
	clusterScoped = `{apiVersion: ctl.example/v1, kind: Fleet, metadata: {name: shop, uid: u}}`
	everything    = ""
	green         = "color=green"
)

func TestRulesThatAHookMayHave(t *testing.T) {
	type where struct {
		Namespace          string
		Names              []string
		Labels, Namespaces string
	}
	ofConfigMaps := func(r pipeline.RelatedRule) pipeline.RelatedRule {
		r.APIVersion, r.Resource = "v1", "configmaps"
		return r
	}
	ofNamespaces := func(r pipeline.RelatedRule) pipeline.RelatedRule {
		r.APIVersion, r.Resource = "v1", "namespaces"
		return r
	}
	const needsV2 = "set the hooks to v2"
	tests := map[string]struct {
		rule   pipeline.RelatedRule
		parent string
		v1, v2 where
		// v1Err and v2Err are what follows the name of the rule in the error.
		v1Err, v2Err string
	}{
		"nothing": {
			rule: ofConfigMaps(pipeline.RelatedRule{}), v1: where{Namespace: "own"},
		},
		"labels": {
			rule: ofConfigMaps(pipeline.RelatedRule{LabelSelector: selector(t, &green)}),
			v1:   where{Namespace: "own", Labels: green}, v2: where{Labels: green},
		},
		"labels that select everything": {
			rule: ofConfigMaps(pipeline.RelatedRule{LabelSelector: selector(t, &everything)}), v1: where{Namespace: "own"},
		},
		"names": {
			rule: ofConfigMaps(pipeline.RelatedRule{Names: []string{"a", "b"}}),
			v1:   where{Namespace: "own", Names: []string{"a", "b"}}, v2: where{Names: []string{"a", "b"}},
		},
		"names in the parent's namespace": {
			rule: ofConfigMaps(pipeline.RelatedRule{Namespace: "own", Names: []string{"a"}}),
			v1:   where{Namespace: "own", Names: []string{"a"}}, v2: where{Namespace: "own", Names: []string{"a"}},
		},
		"names in another namespace": {
			rule:  ofConfigMaps(pipeline.RelatedRule{Namespace: "other", Names: []string{"a"}}),
			v1Err: `namespace "other" is not the namespace of the parent, "own": ` + needsV2, v2: where{Namespace: "other", Names: []string{"a"}},
		},
		"labels in another namespace": {
			rule:  ofConfigMaps(pipeline.RelatedRule{Namespace: "other", LabelSelector: selector(t, &green)}),
			v1Err: `namespace "other" is not the namespace of the parent, "own": ` + needsV2, v2: where{Namespace: "other", Labels: green},
		},
		"all in the parent's namespace": {
			rule: ofConfigMaps(pipeline.RelatedRule{Namespace: "own"}), v1: where{Namespace: "own"}, v2: where{Namespace: "own"},
		},
		"labels of namespaces": {
			rule:  ofConfigMaps(pipeline.RelatedRule{NamespaceSelector: selector(t, &green)}),
			v1Err: `namespaceSelector selects among namespaces: ` + needsV2, v2: where{Namespaces: green},
		},
		"labels of objects and namespaces": {
			rule:  ofConfigMaps(pipeline.RelatedRule{NamespaceSelector: selector(t, &green), LabelSelector: selector(t, &green)}),
			v1Err: `namespaceSelector selects among namespaces: ` + needsV2, v2: where{Namespaces: green, Labels: green},
		},
		"labels of a cluster-scoped type": {
			rule: ofNamespaces(pipeline.RelatedRule{LabelSelector: selector(t, &green)}), v1: where{Labels: green}, v2: where{Labels: green},
		},
		"names of a cluster-scoped type": {
			rule: ofNamespaces(pipeline.RelatedRule{Names: []string{"a"}}), v1: where{Names: []string{"a"}}, v2: where{Names: []string{"a"}},
		},
		"a namespace for a cluster-scoped type": {
			rule: ofNamespaces(pipeline.RelatedRule{Namespace: "other", Names: []string{"a"}}),
			v1:   where{Names: []string{"a"}}, v2: where{Names: []string{"a"}},
		},
		"labels of namespaces for a cluster-scoped type": {
			rule:  ofNamespaces(pipeline.RelatedRule{NamespaceSelector: selector(t, &green)}),
			v1Err: "namespaceSelector is for namespaced types, and Namespace.v1 is cluster-scoped",
			v2Err: "namespaceSelector is for namespaced types, and Namespace.v1 is cluster-scoped",
		},
		"names, for a cluster-scoped parent": {
			rule: ofConfigMaps(pipeline.RelatedRule{Names: []string{"a"}}), parent: clusterScoped,
			v1: where{Names: []string{"a"}}, v2: where{Names: []string{"a"}},
		},
		"labels, for a cluster-scoped parent": {
			rule: ofConfigMaps(pipeline.RelatedRule{LabelSelector: selector(t, &green)}), parent: clusterScoped,
			v1: where{Labels: green}, v2: where{Labels: green},
		},
		"a namespace, for a cluster-scoped parent": {
			rule: ofConfigMaps(pipeline.RelatedRule{Namespace: "other"}), parent: clusterScoped,
			v1: where{Namespace: "other"}, v2: where{Namespace: "other"},
		},
		"labels of namespaces, for a cluster-scoped parent": {
			rule: ofConfigMaps(pipeline.RelatedRule{NamespaceSelector: selector(t, &green)}), parent: clusterScoped,
			v1: where{Namespaces: green}, v2: where{Namespaces: green},
		},
	}
	text := func(selector labels.Selector) string {
		if selector == nil {
			return ""
		}
		return selector.String()
	}
	for name, test := range tests {
		for _, version := range []string{"v1", "v2"} {
			t.Run(name+" in "+version, func(t *testing.T) {
				want, wantErr := test.v1, test.v1Err
				if version == "v2" {
					want, wantErr = test.v2, test.v2Err
				}
				if wantErr != "" {
					wantErr = fmt.Sprintf("customize hook: relatedResources[0] (%s in v1): %s", test.rule.Resource, wantErr)
				}
				parent := test.parent
				if parent == "" {
					parent = inNamespace
				}
				found, err := ResolveFunc(resolve).find(t.Context(), []pipeline.RelatedRule{test.rule})
				if err != nil {
					t.Fatal(err)
				}
				confinement := needsV2
				if version == "v2" {
					confinement = ""
				}
				rules, err := (&Config{Confinement: confinement}).narrow(parsed(t, parent), found)
				if err != nil || wantErr != "" {
					if err == nil || err.Error() != wantErr {
						t.Errorf("the error is\n%v\nwant\n%s", err, wantErr)
					}
					return
				}
				got := where{strings.Join(rules[0].within, " "), rules[0].names, text(rules[0].labels), text(rules[0].namespaces)}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the rule looks elsewhere (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestATypeThatIsNotThereIsToldWithItsRule(t *testing.T) {
	_, err := ResolveFunc(resolve).find(t.Context(), []pipeline.RelatedRule{
		{APIVersion: "v1", Resource: "secrets"}, {APIVersion: "gone.example/v1", Resource: "shops"},
	})
	const want = `customize hook: relatedResources[1] (shops in gone.example/v1): can't find resource "shops" in apiVersion "gone.example/v1"`
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if _, unknown := errors.AsType[*discovery.UnknownTypeError](err); !unknown {
		t.Errorf("the error is of another kind: %#v", err)
	}
}

func TestWhatARuleSelects(t *testing.T) {
	const (
		a     = `{metadata: {name: a, namespace: one}}`
		leaf  = `{metadata: {name: a, namespace: one, labels: {color: green}}}`
		stone = `{metadata: {name: a, namespace: one, labels: {color: grey}}}`
		node  = `{metadata: {name: a}}`
	)
	namespaceLabels := map[string]labels.Set{"one": {"color": "green"}, "two": {"color": "grey"}}
	both := &rule{labels: selector(t, &green), namespaces: selector(t, &green)}
	tests := map[string]struct {
		rule   *rule
		object string
		want   bool
	}{
		"everything selects an object":               {&rule{}, a, true},
		"everything selects a cluster-scoped object": {&rule{}, node, true},
		"its name":                                               {&rule{names: []string{"b", "a"}}, a, true},
		"another name":                                           {&rule{names: []string{"b"}}, a, false},
		"its name in its namespace":                              {&rule{within: []string{"one"}, names: []string{"a"}}, a, true},
		"its name in another namespace":                          {&rule{within: []string{"two"}, names: []string{"a"}}, a, false},
		"another name in its namespace":                          {&rule{within: []string{"one"}, names: []string{"b"}}, a, false},
		"the name of a cluster-scoped object":                    {&rule{names: []string{"a"}}, node, true},
		"its namespace":                                          {&rule{within: []string{"one"}}, a, true},
		"another namespace":                                      {&rule{within: []string{"two"}}, a, false},
		"its labels":                                             {&rule{labels: selector(t, &green)}, leaf, true},
		"other labels":                                           {&rule{labels: selector(t, &green)}, stone, false},
		"labels, and the object has none":                        {&rule{labels: selector(t, &green)}, a, false},
		"its labels in its namespace":                            {&rule{within: []string{"one"}, labels: selector(t, &green)}, leaf, true},
		"its labels in another namespace":                        {&rule{within: []string{"two"}, labels: selector(t, &green)}, leaf, false},
		"its namespace's labels":                                 {&rule{namespaces: selector(t, &green)}, stone, true},
		"another namespace's labels":                             {&rule{namespaces: selector(t, &green)}, `{metadata: {name: a, namespace: two}}`, false},
		"the labels of a namespace that is not there":            {&rule{namespaces: selector(t, &green)}, `{metadata: {name: a, namespace: gone}}`, false},
		"its labels and its namespace's":                         {both, leaf, true},
		"its namespace's labels, but not its own":                {both, stone, false},
		"its labels, but not its namespace's":                    {both, `{metadata: {name: a, namespace: two, labels: {color: green}}}`, false},
		"labels that select everything, and the object has none": {&rule{labels: selector(t, &everything)}, a, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			labelsOf := func(namespace string) labels.Set { return namespaceLabels[namespace] }
			if got := test.rule.selects(parsed(t, test.object), labelsOf); got != test.want {
				t.Errorf("it is selected: %v, want %v", got, test.want)
			}
		})
	}
}

// What the index finds has to be all that selects an object, whatever else it finds.
func TestTheIndexMissesNoRule(t *testing.T) {
	var rules []*rule
	for _, within := range [][]string{nil, {"one"}, {"two"}, {"one", "two"}} {
		for _, names := range [][]string{nil, {"a"}, {"b", "a", "a"}} {
			for _, labels := range []labels.Selector{nil, selector(t, &green)} {
				rules = append(rules, &rule{within: within, names: names, labels: labels})
			}
		}
	}
	rules = append(rules, &rule{namespaces: selector(t, &green)})
	all := index{}
	for _, r := range rules {
		all.add(r)
	}
	labelsOf := func(string) labels.Set { return labels.Set{"color": "green"} }
	for _, namespace := range []string{"", "one", "two", "three"} {
		for _, name := range []string{"a", "b", "c"} {
			o := parsed(t, fmt.Sprintf(`{metadata: {name: %s, namespace: %q, labels: {color: green}}}`, name, namespace))
			want, got := map[*rule]bool{}, map[*rule]bool{}
			for _, r := range rules {
				if r.selects(o, labelsOf) {
					want[r] = true
				}
			}
			for r := range all.at(o) {
				if r.selects(o, labelsOf) {
					got[r] = true
				}
			}
			if len(want) != len(got) {
				t.Errorf("%s/%s: %d rules select it, %d are found", namespace, name, len(want), len(got))
			}
		}
	}
	for _, r := range rules {
		all.remove(r)
	}
	if len(all) > 0 {
		t.Errorf("without rules there is still %v", all)
	}
}

func TestTheIndexPassesOverRulesThatNameOthers(t *testing.T) {
	all := index{}
	for i := range 1000 {
		all.add(&rule{within: []string{fmt.Sprint("n", i)}, names: []string{"a"}})
		all.add(&rule{names: []string{fmt.Sprint("b", i)}})
	}
	found := 0
	for range all.at(parsed(t, `{metadata: {name: a, namespace: n7}}`)) {
		found++
	}
	if found != 1 {
		t.Errorf("%d rules have to be looked at for an object that one of them names", found)
	}
}

func TestTypesFoundRecentlyAreNotLookedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		find := cacheTypes(func(ctx context.Context, apiVersion, resource string) (object.Type, error) {
			asked++
			return resolve(ctx, apiVersion, resource)
		})
		for _, step := range []struct {
			what, resource string
			after          time.Duration
			want           int
		}{
			{"a type", "configmaps", 0, 1},
			{"the same at once", "configmaps", 0, 1},
			{"another", "secrets", 0, 2},
			{"the first after a while", "configmaps", typesLast, 3},
			{"one that is not there", "shops", 0, 4},
			{"it again", "shops", 0, 5},
		} {
			<-time.After(step.after)
			if of, _ := find(t.Context(), "v1", step.resource); step.resource != "shops" && of.Resource != step.resource {
				t.Errorf("%s: found is %v", step.what, of)
			}
			if asked != step.want {
				t.Errorf("%s: the host was asked %d times, want %d", step.what, asked, step.want)
			}
		}
	})
}

func TestRulesWhoseObjectsNoHookIsShown(t *testing.T) {
	const because, of = "hooks of version v1 are shown nothing", " of the customize hook: "
	web := parsed(t, `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: a, namespace: own}}`)
	fleet := parsed(t, `{apiVersion: ctl.example/v1, kind: Fleet, metadata: {name: a}}`)
	rules := []pipeline.RelatedRule{
		{APIVersion: "v1", Resource: "configmaps"},
		{APIVersion: "v1", Resource: "namespaces"},
		{APIVersion: "v1", Resource: "secrets", Namespace: "own"},
		{APIVersion: "v1", Resource: "secrets", Namespace: "other"},
	}
	found, err := ResolveFunc(resolve).find(t.Context(), rules)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"relatedResources[1] (namespaces in v1)" + of + namespaces.String() + " is cluster-scoped, and " + because,
		"relatedResources[3] (secrets in v1)" + of + `namespace "other" is not the namespace of the parent, and ` + because,
	}
	var got []string
	for _, warning := range (&Config{NotShown: because}).notShown(web, found) {
		got = append(got, warning.Message)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the warnings differ (-want +got):\n%s", diff)
	}
	if got := (&Config{NotShown: because}).notShown(fleet, found); len(got) > 0 {
		t.Errorf("about a cluster-scoped parent: %v", got)
	}
	if got := (&Config{}).notShown(web, found); len(got) > 0 {
		t.Errorf("with hooks of version v2: %v", got)
	}
}
