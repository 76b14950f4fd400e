// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
)

func TestDefinitionsAreRestored(t *testing.T) {
	for _, kind := range kinds() {
		of, err := original(kind)
		if err != nil {
			t.Fatal(err)
		}
		if err := of.unfit(); err != nil {
			t.Errorf("%s: %v", kind.resource, err)
		}
		before := of.DeepCopy()
		if of.addCopyVersion(); of.version(copyVersion) == nil || of.version(copyVersion)["storage"] != false {
			t.Errorf("%s has the versions %v", kind.resource, of.versions())
		}
		of.serve(servedVersion, false)
		if !of.restore() || !reflect.DeepEqual(of.Object, before.Object) || of.restore() {
			t.Errorf("%s is not as before", kind.resource)
		}
	}
}

func TestMetacontrollerIsRecognised(t *testing.T) {
	for name, test := range map[string]struct {
		container corev1.Container
		runs      bool
	}{
		"by its image": {corev1.Container{Image: "ghcr.io/metacontroller/metacontroller:v4.17.2"},
			true},
		"by its image with a digest": {corev1.Container{Image: "registry:5000/metacontroller@sha256:0123"}, true},
		"by its command, in a mirrored image": {corev1.Container{Image: "mirror/mc:1",
			Command: []string{"/usr/bin/metacontroller"}}, true},
		"not this server": {corev1.Container{Image: "metacontroller/metacontroller-apiserver:latest"},
			false},
		"not a hook in the namespace": {corev1.Container{Image: "metacontroller/hook:1"}, false},
		"not a shell in Metacontroller's image": {corev1.Container{Image: "metacontroller:1", Command: []string{"sh"}},
			false},
	} {
		if _, runs := argsOfOriginal(corev1.PodSpec{Containers: []corev1.Container{{Image: "sidecar"},
			test.container}}); runs != test.runs {
			t.Errorf("%s: it is recognised is %v", name, runs)
		}
	}
}

// An object that is stored without fields gets them back, unless it was edited.
func TestFieldsThatADefinitionLacks(t *testing.T) {
	full := map[string]any{"spec": map[string]any{"paused": true, "size": int64(1)}}
	stored := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"size": int64(1)}, "status": map[string]any{}}}
	kept, err := json.Marshal(fields{full, body(stored)})
	if err != nil {
		t.Fatal(err)
	}
	stored.SetAnnotations(map[string]string{fieldsAnnotation: string(kept)})
	of := object{kinds()[2], stored}
	if now := content(of); !reflect.DeepEqual(body(now), full) || len(now.GetAnnotations()) > 0 ||
		now.Object["status"] != nil {
		t.Errorf("it comes back as %v", now)
	}
	stored.Object["spec"] = map[string]any{"size": int64(2)}
	if now := body(content(of)); !reflect.DeepEqual(now, map[string]any{"spec": map[string]any{"size": int64(2)}}) {
		t.Errorf("after an edit, it comes back as %v", now)
	}
}

func TestInWhichFieldsTwoObjectsDiffer(t *testing.T) {
	for name, test := range map[string]struct {
		a, b map[string]any
		want []string
	}{
		"the same":              {map[string]any{"spec": map[string]any{"a": "1"}}, map[string]any{"spec": map[string]any{"a": "1"}}, nil},
		"another value":         {map[string]any{"spec": map[string]any{"a": "1"}}, map[string]any{"spec": map[string]any{"a": "2"}}, []string{"spec.a"}},
		"one lacks a value":     {map[string]any{"spec": map[string]any{"a": "1"}}, map[string]any{"spec": map[string]any{}}, []string{"spec.a"}},
		"one has an empty list": {map[string]any{"list": []any{}, "a": "1"}, map[string]any{"a": "1"}, nil},
		"one has an empty map":  {map[string]any{"a": "1"}, map[string]any{"map": map[string]any{}, "a": "1"}, nil},
		"a list is empty":       {map[string]any{"list": []any{}}, map[string]any{"list": []any{"a"}}, []string{"list"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := differingPaths(test.a, test.b); !slices.Equal(got, test.want) {
				t.Errorf("they differ in %v, want %v", got, test.want)
			}
		})
	}
}

// controllerWith returns a CompositeController of the name pages with hooks.
func controllerWith(hooks map[string]any) object {
	of := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"hooks": hooks}}}
	of.SetName("pages")
	return object{kinds()[2], of}
}

// The cluster looks up a host of one word in the namespace of the caller.
func TestHostsThatTheServerDoesNotFind(t *testing.T) {
	webhook := func(of map[string]any) map[string]any { return map[string]any{"webhook": of} }
	at := func(url string) map[string]any { return webhook(map[string]any{"url": url}) }
	const lost = `CompositeController pages: the host "profiles" of a hook has no namespace. It resolves in kubeflow, ` +
		"where Metacontroller runs, but not in metacontroller, where the server runs: write profiles.kubeflow"
	for name, test := range map[string]struct {
		hook   map[string]any
		runsIn string
		want   []string
	}{
		"one word":                              {at("http://profiles/sync"), "kubeflow", []string{lost}},
		"one word and a port":                   {at("http://profiles:8080/sync"), "kubeflow", []string{lost}},
		"one word, and both run in a namespace": {at("http://profiles/sync"), "metacontroller", nil},
		"a name with its namespace":             {at("http://profiles.kubeflow/sync"), "kubeflow", nil},
		"an address":                            {at("http://10.0.0.1:8080/sync"), "kubeflow", nil},
		"an address of version 6":               {at("http://[fd00::1]:8080/sync"), "kubeflow", nil},
		"a process in the same Pod":             {at("http://localhost:8080/sync"), "kubeflow", nil},
		"a Service": {webhook(map[string]any{"path": "/sync",
			"service": map[string]any{"name": "profiles", "namespace": "kubeflow"}}), "kubeflow", nil},
		"a hook without an address": {map[string]any{}, "kubeflow", nil},
	} {
		c := &check{Migration: &Migration{cluster: &cluster{}}, warns: sets.Set[string]{}, namespaces: []string{test.runsIn}}
		c.config.Service.Namespace = "metacontroller"
		c.ofHooks(controllerWith(map[string]any{"sync": test.hook, "customized": test.hook}))
		if got := sets.List(c.warns); !slices.Equal(got, test.want) {
			t.Errorf("%s: the warnings are %q, want %q", name, got, test.want)
		}
	}
}

func TestControllersWithInlineHooksAreFound(t *testing.T) {
	inline, webhook := map[string]any{"inline": map[string]any{}}, map[string]any{"webhook": map[string]any{}}
	all := objects{
		"sync":     controllerWith(map[string]any{"sync": inline}),
		"finalize": controllerWith(map[string]any{"sync": webhook, "finalize": inline}),
		"webhook":  controllerWith(map[string]any{"sync": webhook, "finalize": nil}),
	}
	if found := withInline(all); !slices.Equal(found, []string{"finalize", "sync"}) {
		t.Errorf("found %v", found)
	}
}
