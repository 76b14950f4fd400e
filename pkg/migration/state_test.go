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
func leading(service string, annotations map[string]string) *unstructured.Unstructured {
	of := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	if service != "" {
		of.Object["spec"] = map[string]any{"service": map[string]any{"namespace": "ns", "name": service}}
	}
	of.SetAnnotations(annotations)
	of.SetCreationTimestamp(metav1.Unix(2, 0))
	return of
}

// marked returns an APIService of this server with the marks of a step.
func marked(counts side, held bool) *unstructured.Unstructured {
	of := leading("ours", nil)
	mark(of, counts, held)
	return of
}

// defined returns the definitions as of the second 1.
func defined(t *testing.T, served bool) (all []definition) {
	for _, kind := range kinds() {
		of, err := original(kind)
		if err != nil {
			t.Fatal(err)
		}
		of.serve(servedVersion, served)
		of.SetCreationTimestamp(metav1.Unix(1, 0))
		all = append(all, of)
	}
	return all
}

// older returns an APIService from before the definitions.
func older(of *unstructured.Unstructured) *unstructured.Unstructured {
	of.SetCreationTimestamp(metav1.Unix(0, 0))
	return of
}

func TestWhichSideCounts(t *testing.T) {
	for name, test := range map[string]struct {
		is          state
		counts      side
		interrupted bool
		strange     bool
	}{
		"nothing is installed": {is: state{}, counts: nowhere},
		"Metacontroller": {is: state{service: leading("", nil), definitions: defined(t, true)},
			counts: inDefinitions},
		"the server alone": {is: state{service: leading("ours", nil)}, counts: inServer},
		"the server over Metacontroller": {is: state{service: leading("ours", nil), definitions: defined(t, true)},
			counts: inDefinitions},
		"after a switch": {is: state{service: marked(inServer, false), definitions: defined(t, false)},
			counts: inServer},
		"definitions that are back": {is: state{service: marked(inServer, false), definitions: defined(t, true)},
			counts: inServer},
		"definitions that are newer than the server": {is: state{service: older(leading("ours", nil)),
			definitions: defined(t, true)}, counts: inServer},
		"an APIService that is new": {is: state{service: leading("ours", nil), definitions: defined(t, false)},
			counts: inServer},
		"an APIService that was deleted": {is: state{definitions: defined(t, false)}, counts: inDefinitions, strange: true},
		"another server": {is: state{service: leading("other", nil), definitions: defined(t, false)},
			counts: inDefinitions, strange: true},
		"an interrupted switch whose policy was removed": {is: state{service: marked(inDefinitions, true),
			definitions: defined(t, true)}, counts: inDefinitions, interrupted: true},
		"an interrupted way back whose policy was removed": {is: state{service: marked(inServer, true),
			definitions: defined(t, false)}, counts: inServer, interrupted: true},
		"a way back into definitions that are newer than the APIService, whose policy was removed": {
			is:     state{service: older(marked(inDefinitions, true)), definitions: defined(t, true)},
			counts: inDefinitions, interrupted: true},
		"an interrupted switch": {is: state{service: marked(inDefinitions, true), definitions: defined(t, true),
			frozen: true}, counts: inDefinitions, interrupted: true},
		"a switch interrupted at its end": {is: state{service: marked(inServer, true), definitions: defined(t, true),
			frozen: true}, counts: inServer, interrupted: true},
		"a way back, as it deletes the APIService": {is: state{definitions: defined(t, true), frozen: true},
			counts: inDefinitions, interrupted: true},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.is.interpret(types.NamespacedName{Namespace: "ns", Name: "ours"})
			if (err != nil) != test.strange {
				t.Errorf("error %v", err)
			}
			if test.is.side != test.counts || test.is.isInterrupted() != test.interrupted {
				t.Errorf("%q counts, want %q; interrupted is %v", test.is.side, test.counts, test.is.isInterrupted())
			}
		})
	}
}

// An administrator's hold stays.
func TestAHoldOfAnAdministratorStays(t *testing.T) {
	of := leading("ours", map[string]string{"metacontroller.k8s.io/hold": "maintenance"})
	mark(of, inDefinitions, true)
	mark(of, inServer, false)
	if why := of.GetAnnotations()["metacontroller.k8s.io/hold"]; why != "maintenance" {
		t.Errorf("the hold is %q", why)
	}
}
