// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var fuzzSeeds = []string{
	`{"apiVersion":"v1","kind":"Pod","metadata":{"managedFields":[{"a":1}],"name":"web","labels":{"a":"b"}},"status":{}}`,
	`{"metadata":{"name":"web","managedFields":[],"managedFields":null,"generation":3}}`,
	`{"metadata":{"ownerReferences":[{"uid":"a","controller":true}],"ownerReferences":[{"uid":"b"}]}}`,
	`{"metadata":{"managedFields":1},"metadata":{"annotations":{"metacontroller.k8s.io/last-applied-configuration":"{}"}}}`,
	"{ \"metadata\" : { \"managedFields\" : 1 , \"x\" : \"\xff\\ud800\" } , \"k\xff\" : 1 }",
	`{"metadata":{"creationTimestamp":"2026-01-02T03:04:05Z","deletionTimestamp":null,"finalizers":["a"]}}`,
	`{"metadata":{"annotations":{"metacontroller.k8s.io/last-applied-configuration":"{}"},"managedFields":[{"manager":"metacontroller","operation":"Update"},{"fieldsV1":{"f:spec":{}}}]}}`,
	`{"metadata":null}{}`, `[`, `null`, `{"a":1e999}`,
}

// FuzzParse holds Parse against encoding/json: what both read, they read alike, but
// for the managed fields.
func FuzzParse(f *testing.F) {
	for _, seed := range fuzzSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		parsed, err := Parse(raw)
		if err != nil {
			return
		}
		var want map[string]any
		if err := json.Unmarshal(raw, &want); err != nil {
			return // it refuses some numbers that nobody has asked for yet
		}
		if metadata, ok := want["metadata"].(map[string]any); ok {
			delete(metadata, "managedFields")
		}
		var got map[string]any
		if err := json.Unmarshal(parsed.JSON(), &got); err != nil {
			t.Fatalf("JSON became invalid: %s: %v", parsed.JSON(), err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the object differs (-want +got):\n%s", diff)
		}
		metadataOf(t, raw, parsed)
		again, err := Parse(parsed.JSON())
		if err != nil {
			t.Fatalf("JSON %s is not parsed again: %v", parsed.JSON(), err)
		}
		parsed.Owners = "" // of what was cut out there is nothing left to know
		if diff := cmp.Diff(parsed, again, cmp.AllowUnexported(Object{})); diff != "" {
			t.Errorf("parsed again, the object differs (-first +again):\n%s", diff)
		}
	})
}

// metadataOf compares the parsed metadata with what encoding/json makes of the same
// bytes, if it reads them at all.
func metadataOf(t *testing.T, raw []byte, parsed *Object) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(raw, &top); err != nil {
		return
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(top["metadata"], &fields); err != nil {
		return
	}
	var want metav1.ObjectMeta
	for name, into := range map[string]any{
		"name": &want.Name, "namespace": &want.Namespace, "uid": &want.UID, "generation": &want.Generation,
		"resourceVersion": &want.ResourceVersion, "ownerReferences": &want.OwnerReferences, "finalizers": &want.Finalizers,
	} {
		if err := json.Unmarshal(fields[name], into); fields[name] != nil && err != nil {
			t.Errorf("metadata.%s is read, though encoding/json does not: %v", name, err)
		}
	}
	got := metav1.ObjectMeta{
		Name: parsed.Name, Namespace: parsed.Namespace, UID: parsed.UID, Generation: parsed.Generation,
		ResourceVersion: parsed.ResourceVersion, OwnerReferences: parsed.OwnerReferences, Finalizers: parsed.Finalizers,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the metadata differs (-want +got):\n%s", diff)
	}
}
