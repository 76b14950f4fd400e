// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestWhatIsRelated(t *testing.T) {
	o := observe(t)
	o.host.put(t, namespaces, `name: own`)
	o.host.put(t, namespaces, `name: one, labels: {color: green}`)
	o.host.put(t, namespaces, `name: two, labels: {color: green}`)
	for _, namespace := range []string{"own", "one", "two"} {
		o.host.put(t, configMaps, `name: a, namespace: `+namespace)
		o.host.put(t, configMaps, `name: b, namespace: `+namespace+`, labels: {color: green}`)
	}
	o.host.put(t, secrets, `name: a, namespace: two`)
	rule := func(r pipeline.RelatedRule) pipeline.RelatedRule {
		r.APIVersion, r.Resource = "v1", "configmaps"
		return r
	}
	ofSecrets := pipeline.RelatedRule{APIVersion: "v1", Resource: "secrets"}
	tests := []struct {
		what  string
		rules []pipeline.RelatedRule
		want  string
	}{
		{"no rules", nil, ""},
		{"everything", []pipeline.RelatedRule{rule(pipeline.RelatedRule{})}, "ConfigMap[one/a one/b own/a own/b two/a two/b]"},
		{"labels", []pipeline.RelatedRule{rule(pipeline.RelatedRule{LabelSelector: selector(t, &green)})}, "ConfigMap[one/b own/b two/b]"},
		{"labels in a namespace", []pipeline.RelatedRule{rule(pipeline.RelatedRule{Namespace: "one", LabelSelector: selector(t, &green)})}, "ConfigMap[one/b]"},
		{"a namespace", []pipeline.RelatedRule{rule(pipeline.RelatedRule{Namespace: "one"})}, "ConfigMap[one/a one/b]"},
		{"a namespace that is not there", []pipeline.RelatedRule{rule(pipeline.RelatedRule{Namespace: "gone"})}, "ConfigMap[]"},
		{"names", []pipeline.RelatedRule{rule(pipeline.RelatedRule{Names: []string{"a", "c"}})}, "ConfigMap[one/a own/a two/a]"},
		{"names in a namespace", []pipeline.RelatedRule{rule(pipeline.RelatedRule{Namespace: "two", Names: []string{"b", "a", "b", "c"}})}, "ConfigMap[two/a two/b]"},
		{"labels of namespaces", []pipeline.RelatedRule{rule(pipeline.RelatedRule{NamespaceSelector: selector(t, &green)})}, "ConfigMap[one/a one/b two/a two/b]"},
		{"labels of both", []pipeline.RelatedRule{rule(pipeline.RelatedRule{NamespaceSelector: selector(t, &green), LabelSelector: selector(t, &green)})}, "ConfigMap[one/b two/b]"},
		{"namespaces by name", []pipeline.RelatedRule{{APIVersion: "v1", Resource: "namespaces", Names: []string{"two", "own"}}}, "Namespace[own two]"},
		{"two types, in the order of the rules", []pipeline.RelatedRule{ofSecrets, rule(pipeline.RelatedRule{Namespace: "one"})}, "Secret[two/a] ConfigMap[one/a one/b]"},
		{
			"two rules about one type", []pipeline.RelatedRule{rule(pipeline.RelatedRule{Namespace: "own", Names: []string{"a"}}), ofSecrets, rule(pipeline.RelatedRule{Names: []string{"a"}})},
			"ConfigMap[one/a own/a two/a] Secret[two/a]",
		},
	}
	for generation, test := range tests {
		t.Run(test.what, func(t *testing.T) {
			o.TB = t
			o.says(test.rules...)
			o.shows("shop", generation+1, test.want)
		})
	}
}

func TestWatchesAreThereAsLongAsARuleNeedsThem(t *testing.T) {
	o := observe(t)
	o.host.put(t, configMaps, `name: a, namespace: own`)
	ofConfigMaps := pipeline.RelatedRule{APIVersion: "v1", Resource: "configmaps"}
	inGreen := pipeline.RelatedRule{APIVersion: "v1", Resource: "secrets", NamespaceSelector: selector(t, &green)}

	o.says(ofConfigMaps)
	o.shows("shop", 1, "ConfigMap[own/a]")
	o.shows("blog", 1, "ConfigMap[own/a]")
	o.watchesOnly("configmaps")
	o.says(inGreen)
	o.shows("shop", 2, "Secret[]")
	o.watchesOnly("configmaps namespaces secrets")
	o.Forget(o.answers[keyOf("own", "blog")])
	o.watchesOnly("namespaces secrets")
	o.says(inGreen, pipeline.RelatedRule{APIVersion: "v1", Resource: "namespaces", Names: []string{"own"}})
	o.shows("shop", 3, "Secret[] Namespace[]")
	o.says(pipeline.RelatedRule{APIVersion: "v1", Resource: "namespaces", Names: []string{"own"}})
	o.shows("shop", 4, "Namespace[]")
	o.watchesOnly("namespaces")
	o.says()
	o.shows("shop", 5, "")
	o.watchesOnly("")
	if len(o.sources) > 0 || len(o.byAnswer) > 0 {
		t.Errorf("there is still %v for %v", o.sources, o.byAnswer)
	}
}

func TestAnObserverThatIsClosedWatchesNothing(t *testing.T) {
	o := observe(t)
	o.says(pipeline.RelatedRule{APIVersion: "v1", Resource: "configmaps"}, pipeline.RelatedRule{APIVersion: "v1", Resource: "secrets"})
	o.host.silent.Insert("secrets")
	_, err := o.observe("shop", 1)
	if _, waiting := errors.AsType[*NotListedError](err); !waiting {
		t.Fatalf("the error is %v", err)
	}
	o.watchesOnly("configmaps secrets")
	o.Close()
	o.watchesOnly("")
}

func TestAParentWaitsForTheFirstListOfAType(t *testing.T) {
	o := observe(t)
	o.host.silent.Insert("configmaps")
	o.host.put(t, configMaps, `name: a, namespace: own`)
	o.says(pipeline.RelatedRule{APIVersion: "v1", Resource: "configmaps", Names: []string{"b"}})
	_, err := o.observe("shop", 1)
	waiting, ok := errors.AsType[*NotListedError](err)
	if !ok || waiting.After <= 0 || waiting.After > o.patience {
		t.Fatalf("the error is %v", err)
	}
	if triggered := o.triggered(); triggered != "" {
		t.Errorf("%s is synced before the list is there", triggered)
	}
	o.host.answer("configmaps")
	got := ""
	o.eventually("the parent is synced", func() bool { got = o.triggered(); return got == "shop" }, &got)
	o.shows("shop", 1, "ConfigMap[]")
	if calls := o.calls(); calls != 1 {
		t.Errorf("while it waited, the hook was asked %d times", calls)
	}
}

func TestAListThatDoesNotComeIsAnErrorAfterAWhile(t *testing.T) {
	o := observe(t)
	o.patience = 50 * time.Millisecond
	o.host.silent.Insert("configmaps")
	o.host.refused.Insert("secrets")
	for _, test := range []struct{ resource, want string }{
		{"configmaps", "related ConfigMap.v1 cannot be observed: the cluster has not answered yet"},
		{"secrets", "related Secret.v1 cannot be observed: failed to list Secret.v1: secrets are none of your business"},
	} {
		o.says(pipeline.RelatedRule{APIVersion: "v1", Resource: test.resource})
		got := ""
		o.eventually("the error is told", func() bool {
			_, err := o.observe(test.resource, 1)
			got = err.Error()
			return strings.HasPrefix(got, test.want)
		}, &got)
	}
	if calls := o.calls(); calls != 2 {
		t.Errorf("the hook's answers were good, and it was asked %d times", calls)
	}
}

func TestQ26HookIsAskedAgainWhenAnAnswerIsNoUse(t *testing.T) {
	o := observe(t)
	fails := func(want string) {
		t.Helper()
		if _, err := o.observe("shop", 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	o.err = errors.New("the hook fails")
	fails("the hook fails")
	o.err = nil
	o.says(pipeline.RelatedRule{APIVersion: "v1", Resource: "namespaces", NamespaceSelector: selector(t, &green)})
	fails("relatedResources[0] (namespaces in v1): namespaceSelector is for namespaced types")
	o.says(pipeline.RelatedRule{APIVersion: "v1", Resource: "configmap"})
	fails("relatedResources[0] (configmap in v1): can't find resource")
	o.says(pipeline.RelatedRule{APIVersion: "v1", Resource: "configmaps"})
	o.shows("shop", 1, "ConfigMap[]")
	if calls := o.calls(); calls != 4 {
		t.Errorf("it was asked %d times, want 4", calls)
	}
	o.shows("shop", 1, "ConfigMap[]")
	if calls := o.calls(); calls != 4 {
		t.Errorf("after a good answer it was asked %d times more", calls-4)
	}
	o.shows("shop", 2, "ConfigMap[]")
	if calls := o.calls(); calls != 5 {
		t.Errorf("about another generation it was asked %d times, want once", calls-4)
	}
}

func TestAnAnswerOutlastsAHostThatDoesNotTellItsTypes(t *testing.T) {
	o := observe(t)
	o.says(pipeline.RelatedRule{APIVersion: "v1", Resource: "configmaps"})
	o.shows("shop", 1, "ConfigMap[]")
	o.Resolve = func(ctx context.Context, apiVersion, _ string) (object.Type, error) {
		return object.Type{}, &discovery.Error{APIVersion: apiVersion, Err: errors.New("no answer")}
	}
	if _, err := o.observe("shop", 1); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("the error is %v", err)
	}
	o.Resolve = resolve
	o.shows("shop", 1, "ConfigMap[]")
	if calls := o.calls(); calls != 1 {
		t.Errorf("the hook was asked %d times", calls)
	}
}

func TestATypeThatAppearsLateHasItsParentsSynced(t *testing.T) {
	o := observe(t)
	var shops atomic.Bool
	o.Resolve = func(ctx context.Context, apiVersion, resource string) (object.Type, error) {
		if resource == "shops" && shops.Load() {
			return configMaps, nil
		}
		return resolve(ctx, apiVersion, resource)
	}
	o.says(pipeline.RelatedRule{APIVersion: "ctl.example/v1", Resource: "shops"})
	if _, err := o.observe("one", 1); err == nil {
		t.Fatal("a type that is not there was found")
	}
	if !o.MissesTypeOf("ctl.example") || o.MissesTypeOf("") {
		t.Error("it is not known which type is missed")
	}
	o.Recheck(t.Context())
	if triggered := o.triggered(); triggered != "" {
		t.Errorf("%s is synced in vain", triggered)
	}
	shops.Store(true)
	o.Recheck(t.Context())
	if triggered := o.triggered(); triggered != "one" {
		t.Errorf("synced is %q, want one", triggered)
	}
	o.shows("one", 1, "ConfigMap[]")
	if o.MissesTypeOf("ctl.example") {
		t.Error("what was found is still missed")
	}
}

func TestRulesOfAControllerThatIsLimitedToNamespaces(t *testing.T) {
	for name, test := range map[string]struct {
		rule        pipeline.RelatedRule
		confinement string
		want        []string
		err         string
	}{
		"without a namespace": {
			rule: pipeline.RelatedRule{Resource: "configmaps"}, want: []string{"one", "own"},
		},
		"without a namespace, in version v1": {
			rule: pipeline.RelatedRule{Resource: "configmaps"}, confinement: "set the hooks to v2", want: []string{"own"},
		},
		"with one of the namespaces": {
			rule: pipeline.RelatedRule{Resource: "configmaps", Namespace: "one"}, want: []string{"one"},
		},
		"with another namespace": {
			rule: pipeline.RelatedRule{Resource: "configmaps", Namespace: "two"},
			err:  `namespace "two" is not one of spec.namespaces, which limits the controller to one, own`,
		},
		"with labels of namespaces": {
			rule: pipeline.RelatedRule{Resource: "configmaps", NamespaceSelector: selector(t, &green)}, want: []string{"one", "own"},
		},
		"of a cluster-scoped type": {
			rule: pipeline.RelatedRule{Resource: "namespaces"},
			err:  `spec.namespaces limits the controller to objects in namespaces, and Namespace.v1 is cluster-scoped`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.rule.APIVersion = "v1"
			found, err := ResolveFunc(resolve).find(t.Context(), []pipeline.RelatedRule{test.rule})
			if err != nil {
				t.Fatal(err)
			}
			limited := &Config{Confinement: test.confinement, Namespaces: object.NewNamespaces([]string{"own", "one"})}
			rules, err := limited.narrow(parsed(t, inNamespace), found)
			if test.err != "" {
				if want := fmt.Sprintf("customize hook: relatedResources[0] (%s in v1): %s", test.rule.Resource, test.err); err == nil || err.Error() != want {
					t.Errorf("the error is\n%v\nwant\n%s", err, want)
				}
				return
			}
			if err != nil || !slices.Equal(rules[0].within, test.want) {
				t.Errorf("the rule selects in %q, and the error is %v, want %q", rules[0].within, err, test.want)
			}
		})
	}
}
