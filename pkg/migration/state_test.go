// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// leading returns an APIService of the second 2 that leads to a Service; to definitions if that has no name.
func leading(service string, annotations map[string]string) apiService {
	of := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	if service != "" {
		of.Object["spec"] = map[string]any{"service": map[string]any{"namespace": "ns", "name": service}}
	}
	of.SetAnnotations(annotations)
	of.SetCreationTimestamp(metav1.Unix(2, 0))
	return apiService{of}
}

// defined returns the definitions as of the second 1.
func defined(t *testing.T, served bool) map[string]definition {
	all := map[string]definition{}
	for _, kind := range kinds() {
		of, err := original(kind)
		if err != nil {
			t.Fatal(err)
		}
		of.serve(servedVersion, served)
		of.SetCreationTimestamp(metav1.Unix(1, 0))
		all[kind.resource] = of
	}
	return all
}

// begun returns definitions as a step leaves them on the way.
func begun(t *testing.T, served bool) map[string]definition {
	all := defined(t, served)
	for _, of := range all {
		of.addCopyVersion()
	}
	return all
}

// older returns an APIService from before the definitions.
func older(of apiService) apiService {
	of.SetCreationTimestamp(metav1.Unix(0, 0))
	return of
}

func TestWhichSideCounts(t *testing.T) {
	moved := map[string]string{"metacontroller.k8s.io/moved": "true"}
	held := map[string]string{"metacontroller.k8s.io/hold": "migration"}
	policy := func(counts side) *unstructured.Unstructured {
		of := &unstructured.Unstructured{Object: map[string]any{}}
		of.SetAnnotations(map[string]string{countsAnnotation: string(counts)})
		return of
	}
	m := &Migration{cluster: &cluster{config: Config{Service: types.NamespacedName{Namespace: "ns", Name: "ours"}}}}
	for name, test := range map[string]struct {
		is      state
		counts  side
		strange bool
	}{
		"nothing is installed": {state{}, nowhere, false},
		"Metacontroller": {state{service: leading("", nil), definitions: defined(t, true)},
			inDefinitions, false},
		"the server alone": {state{service: leading("ours", nil)}, inServer, false},
		"the server over Metacontroller": {state{service: leading("ours", nil), definitions: defined(t, true)},
			inDefinitions, false},
		"after a switch": {state{service: leading("ours", moved), definitions: defined(t, false)},
			inServer, false},
		"definitions that are back": {state{service: leading("ours", moved), definitions: defined(t, true)},
			inServer, false},
		"an APIService that is new": {state{service: leading("ours", nil), definitions: defined(t, false)},
			inServer, false},
		"an APIService that was deleted": {state{definitions: defined(t, false)}, inDefinitions, true},
		"another server": {state{service: leading("other", moved), definitions: defined(t, false)},
			inDefinitions, true},
		"an interrupted switch whose policy was removed": {state{service: leading("ours", held),
			definitions: begun(t, true)}, inDefinitions, false},
		"an interrupted way back whose policy was removed": {state{service: leading("ours", held),
			definitions: begun(t, false)}, inServer, false},
		"a way back into definitions that are newer than the APIService, whose policy was removed": {
			state{service: older(leading("ours", held)), definitions: begun(t, true)}, inDefinitions, false},
		"a finish that was interrupted": {state{service: leading("ours", moved), definitions: begun(t, true)},
			inServer, false},
		"an interrupted switch": {state{service: leading("ours", nil), definitions: defined(t, true),
			policy: policy(inDefinitions)}, inDefinitions, false},
		"a switch interrupted at its end": {state{service: leading("ours", nil), definitions: defined(t, true),
			policy: policy(inServer)}, inServer, false},
		"a way back, as it deletes the APIService": {state{definitions: defined(t, true), policy: policy(inDefinitions)},
			inDefinitions, false},
	} {
		t.Run(name, func(t *testing.T) {
			test.is.leadsHere = test.is.service.exists() && test.is.service.leadsTo() == m.config.Service
			if counts := test.is.counts(); counts != test.counts {
				t.Errorf("%q counts, want %q", counts, test.counts)
			}
			if err := m.refuseStrange(&test.is); (err != nil) != test.strange {
				t.Errorf("error %v", err)
			}
		})
	}
}
