// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func definitionsOf(t *testing.T, change ...func(definition)) map[string]definition {
	t.Helper()
	all := map[string]definition{}
	for _, kind := range kinds() {
		of, err := original(kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range change {
			change(of)
		}
		all[kind.resource] = of
	}
	return all
}

func apiServiceOf(t *testing.T, text string) apiService {
	t.Helper()
	return apiService{objectOf(t, text)}
}

// How far a migration is follows from the APIServices and the definitions alone.
func TestPhases(t *testing.T) {
	ours := types.NamespacedName{Namespace: "metacontroller", Name: "metacontroller-apiserver"}
	local := apiServiceOf(t, "{metadata: {name: a}, spec: {}}")
	here := apiServiceOf(t, "{metadata: {name: a}, spec: {service: {namespace: metacontroller, name: metacontroller-apiserver}}}")
	holds := apiServiceOf(t, "{metadata: {name: a, annotations: {metacontroller.k8s.io/hold: migration}}, spec: {service: {namespace: metacontroller, name: metacontroller-apiserver}}}")
	foreign := apiServiceOf(t, "{metadata: {name: a}, spec: {service: {namespace: other, name: other}}}")
	notServed := func(of definition) { of.addCopyVersion(); of.serve(servedVersion, false) }
	for name, test := range map[string]struct {
		of   situation
		want Phase
	}{
		"an empty cluster":                     {situation{}, PhaseNothing},
		"Metacontroller's definitions":         {situation{api: local, definitions: definitionsOf(t)}, PhaseOriginal},
		"the server takes copies":              {situation{api: local, imports: here, definitions: definitionsOf(t)}, PhaseCopying},
		"both have the API":                    {situation{api: holds, imports: here, definitions: definitionsOf(t)}, PhaseSwitching},
		"the server was installed over them":   {situation{api: here, definitions: definitionsOf(t)}, PhaseSwitching},
		"the server has it and holds":          {situation{api: holds, imports: here, definitions: definitionsOf(t, notServed)}, PhaseHeld},
		"the server's controllers run":         {situation{api: here, imports: here, definitions: definitionsOf(t, notServed)}, PhaseRunning},
		"the definitions are gone":             {situation{api: here}, PhaseFinished},
		"all is held later, for other reasons": {situation{api: holds}, PhaseFinished},
		"another server":                       {situation{api: foreign, definitions: definitionsOf(t)}, PhaseForeign},
	} {
		test.of.service = ours
		if got := test.of.phase(); got != test.want {
			t.Errorf("%s is the phase %s, want %s", name, got, test.want)
		}
		if _, described := descriptions()[test.want]; !described {
			t.Errorf("nothing is said of the phase %s", test.want)
		}
	}
}

// Definitions that are not as Metacontroller left them are refused before anything is done with them.
func TestDefinitionsThatDoNotFit(t *testing.T) {
	for name, test := range map[string]struct {
		change func(map[string]any)
		want   string
	}{
		"as they are":          {func(map[string]any) {}, ""},
		"a conversion webhook": {func(spec map[string]any) { spec["conversion"] = map[string]any{"strategy": "Webhook"} }, "it has a conversion webhook"},
		"another scope":        {func(spec map[string]any) { spec["scope"] = "Namespaced" }, "its scope is Namespaced"},
		"another version":      {func(spec map[string]any) { spec["versions"].([]any)[0].(map[string]any)["name"] = "v2" }, "it has no version v1alpha1"},
		"stored in another":    {func(spec map[string]any) { spec["versions"].([]any)[0].(map[string]any)["storage"] = false }, "it stores objects in another version"},
		"one version more": {func(spec map[string]any) {
			spec["versions"] = append(spec["versions"].([]any), map[string]any{"name": "v2"})
		}, "it has the version v2"},
	} {
		of, err := original(kinds()[0])
		if err != nil {
			t.Fatal(err)
		}
		test.change(of.Object["spec"].(map[string]any))
		if err := of.fits(kinds()[0]); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// The second version is like the first, is not stored, and goes again.
func TestTheCopyVersionComesAndGoes(t *testing.T) {
	of, err := original(kinds()[0])
	if err != nil {
		t.Fatal(err)
	}
	before := of.DeepCopy()
	if !of.addCopyVersion() || !of.serves(copyVersion) || of.version(copyVersion)["storage"] != false {
		t.Errorf("the version is %v", of.version(copyVersion))
	}
	if of.addCopyVersion() {
		t.Error("it is added twice")
	}
	if !of.removeCopyVersion() || !cmpObjects(before.Object, of.Object) {
		t.Error("the definition is not as it was")
	}
	if of.removeCopyVersion() {
		t.Error("it is removed twice")
	}
}

func cmpObjects(a, b map[string]any) bool { return len(differingPaths(a, b)) == 0 }
