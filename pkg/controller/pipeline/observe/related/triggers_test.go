// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// marker is a parent. Once it is enqueued, all earlier changes have been handled.
const marker = "marker"

// triggers makes a change and compares which parents it has synced. The marker is
// related to one ConfigMap, which is changed afterwards.
func (o *observing) triggers(what string, change func(), want string) {
	o.Helper()
	o.triggered()
	change()
	o.host.put(o, configMaps, `name: last, namespace: markers`)
	got := ""
	o.eventually("after "+what+" the ConfigMaps' changes are dealt with", func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.synced[keyOf("own", marker)] > 0
	}, &got)
	o.mu.Lock()
	delete(o.synced, keyOf("own", marker))
	o.mu.Unlock()
	if got := o.triggered(); got != want {
		o.Errorf("%s: synced are %q, want %q", what, got, want)
	}
}

func TestQ29ChangesOfRelatedObjectsTriggerWithoutACall(t *testing.T) {
	o := observe(t)
	ofConfigMaps := func(r pipeline.RelatedRule) pipeline.RelatedRule {
		r.APIVersion, r.Resource = "v1", "configmaps"
		return r
	}
	for name, rule := range map[string]pipeline.RelatedRule{
		marker:       {Namespace: "markers"},
		"by-name":    {Namespace: "one", Names: []string{"a", "x"}},
		"anywhere":   {Names: []string{"a"}},
		"in-one":     {Namespace: "one"},
		"green":      {LabelSelector: selector(t, &green)},
		"two-greens": {Namespace: "two", LabelSelector: selector(t, &green)},
	} {
		o.says(ofConfigMaps(rule))
		o.shows(name, 1, "ConfigMap[]")
	}
	o.says(pipeline.RelatedRule{APIVersion: "v1", Resource: "secrets", Names: []string{"a"}})
	o.shows("of-another-type", 1, "Secret[]")
	calls := o.calls()

	put := func(metadata string) func() { return func() { o.host.put(t, configMaps, metadata) } }
	o.triggers("an object comes", put(`name: a, namespace: one`), "anywhere by-name in-one")
	o.triggers("it changes", put(`name: a, namespace: one, annotations: {x: z}`), "anywhere by-name in-one")
	o.triggers("it gets a label", put(`name: a, namespace: one, labels: {color: green}`), "anywhere by-name green in-one")
	o.triggers("it loses the label", put(`name: a, namespace: one`), "anywhere by-name green in-one")
	o.triggers("it goes", func() { o.host.remove(t, configMaps, `name: a, namespace: one`) }, "anywhere by-name in-one")
	o.triggers("a namesake comes", put(`name: a, namespace: two`), "anywhere")
	o.triggers("another object comes", put(`name: b, namespace: two, labels: {color: green}`), "green two-greens")
	o.triggers("one comes that nobody wants", put(`name: b, namespace: three`), "")

	o.Forget(o.answers[keyOf("own", "green")])
	o.triggers("a parent is gone", put(`name: b, namespace: two, labels: {color: green}, annotations: {x: z}`), "two-greens")
	o.says(ofConfigMaps(pipeline.RelatedRule{Namespace: "three"}))
	o.shows("two-greens", 2, "ConfigMap[three/b]")
	o.triggers("a parent has other rules", put(`name: b, namespace: two, labels: {color: green}`), "")
	if more := o.calls() - calls; more != 1 {
		t.Errorf("the hook was asked %d times, want once, for the new generation", more)
	}
}

func TestQ28LabelsOfNamespacesTriggerThoseWhoSelectByThem(t *testing.T) {
	o := observe(t)
	o.host.put(t, namespaces, `name: one`)
	o.host.put(t, configMaps, `name: a, namespace: one`)
	o.says(pipeline.RelatedRule{APIVersion: "v1", Resource: "configmaps", Namespace: "markers"})
	o.shows(marker, 1, "ConfigMap[]")
	o.says(pipeline.RelatedRule{APIVersion: "v1", Resource: "configmaps", NamespaceSelector: selector(t, &green)})
	o.shows("in-green", 1, "ConfigMap[]")
	o.says(pipeline.RelatedRule{APIVersion: "v1", Resource: "namespaces", LabelSelector: selector(t, &green)})
	o.shows("green", 1, "Namespace[]")
	o.says(pipeline.RelatedRule{APIVersion: "v1", Resource: "namespaces", Names: []string{"one"}})
	o.shows("one", 1, "Namespace[one]")

	triggers := func(what string, change func(), want string) {
		t.Helper()
		o.triggered()
		change()
		synced := map[string]bool{}
		got := ""
		o.eventually("after "+what+" these are synced: "+want, func() bool {
			for _, name := range strings.Fields(o.triggered()) {
				synced[name] = true
			}
			got = strings.Join(slices.Sorted(maps.Keys(synced)), " ")
			return got == want
		}, &got)
	}
	triggers("a namespace gets the label", func() { o.host.put(t, namespaces, `name: one, labels: {color: green}`) }, "green in-green one")
	o.shows("in-green", 1, "ConfigMap[one/a]")
	triggers("it gets another label", func() { o.host.put(t, namespaces, `name: one, labels: {color: green, x: z}`) }, "green one")
	triggers("an object comes to it", func() { o.host.put(t, configMaps, `name: b, namespace: one`) }, "in-green")
	triggers("it loses the label", func() { o.host.put(t, namespaces, `name: one, labels: {x: z}`) }, "green in-green one")
	o.shows("in-green", 1, "ConfigMap[]")
	triggers("a namespace comes with the label", func() { o.host.put(t, namespaces, `name: two, labels: {color: green}`) }, "green in-green")
	triggers("it goes", func() { o.host.remove(t, namespaces, `name: two, labels: {color: green}`) }, "green in-green")
	o.triggers("an object changes in a namespace without the label", func() { o.host.put(t, configMaps, `name: a, namespace: one, labels: {x: z}`) }, "")
	if calls := o.calls(); calls != 4 {
		t.Errorf("the hook was asked %d times, want once for each parent", calls)
	}
}
