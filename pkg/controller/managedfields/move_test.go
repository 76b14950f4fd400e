// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package managedfields

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	update = metav1.ManagedFieldsOperationUpdate
	apply  = metav1.ManagedFieldsOperationApply
)

var managers = Managers{Update: "metacontroller", Apply: "ours"}

func entry(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
	entry := metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{}}
	entry.FieldsV1.SetRawBytes([]byte(fields))
	return entry
}

func of(entry metav1.ManagedFieldsEntry, change func(*metav1.ManagedFieldsEntry)) metav1.ManagedFieldsEntry {
	change(&entry)
	return entry
}

func inVersion(version string) func(*metav1.ManagedFieldsEntry) {
	return func(entry *metav1.ManagedFieldsEntry) { entry.APIVersion = version }
}

func ofStatus(entry *metav1.ManagedFieldsEntry) { entry.Subresource = "status" }

// text is what entries look like in an object.
func text(t *testing.T, entries []metav1.ManagedFieldsEntry) []any {
	t.Helper()
	raw, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	var result []any
	if err := json.Unmarshal(raw, &result); err != nil {
		t.Fatal(err)
	}
	return result
}

func TestToApply(t *testing.T) {
	tests := map[string]struct {
		entries []metav1.ManagedFieldsEntry
		record  string
		want    []metav1.ManagedFieldsEntry
	}{
		"what is on record and no more": {
			entries: []metav1.ManagedFieldsEntry{entry("metacontroller", update, `{"f:metadata":{"f:annotations":{".":{},"f:note":{}},"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:selector":{},"f:type":{}}}`)},
			record:  `{metadata: {name: a, labels: {app: x}}, spec: {selector: {a: b}}}`,
			want: []metav1.ManagedFieldsEntry{
				entry("metacontroller", update, `{"f:metadata":{"f:annotations":{".":{},"f:note":{}}},"f:spec":{"f:type":{}}}`),
				entry("ours", apply, `{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:selector":{}}}`),
			},
		},
		"all there is": {
			entries: []metav1.ManagedFieldsEntry{entry("metacontroller", update, `{"f:data":{"f:a":{}}}`)},
			record:  `{data: {a: 1, b: 2}}`,
			want:    []metav1.ManagedFieldsEntry{entry("ours", apply, `{"f:data":{"f:a":{}}}`)},
		},
		"nothing of what is not on record": {
			entries: []metav1.ManagedFieldsEntry{entry("metacontroller", update, `{"f:data":{"f:a":{}}}`)},
			record:  `{}`,
			want:    []metav1.ManagedFieldsEntry{entry("metacontroller", update, `{"f:data":{"f:a":{}}}`)},
		},
		"nothing of others, of subresources or in other versions": {
			entries: []metav1.ManagedFieldsEntry{
				entry("kubectl", update, `{"f:data":{"f:b":{}}}`),
				of(entry("metacontroller", update, `{"f:status":{"f:a":{}}}`), ofStatus),
				entry("kubectl", apply, `{"f:data":{"f:c":{}}}`),
			},
			record: `{data: {a: 1, b: 2, c: 3}, status: {a: 1}}`,
			want: []metav1.ManagedFieldsEntry{
				entry("kubectl", update, `{"f:data":{"f:b":{}}}`),
				of(entry("metacontroller", update, `{"f:status":{"f:a":{}}}`), ofStatus),
				entry("kubectl", apply, `{"f:data":{"f:c":{}}}`),
			},
		},
		"together with what was applied before": {
			entries: []metav1.ManagedFieldsEntry{
				of(entry("ours", apply, `{"f:data":{"f:a":{}}}`), inVersion("v1beta1")), entry("kubectl", update, `{"f:data":{"f:z":{}}}`),
				entry("metacontroller", update, `{"f:data":{"f:b":{}}}`), of(entry("metacontroller", update, `{"f:data":{"f:c":{}}}`), inVersion("v1beta1")),
			},
			record: `{data: {a: 1, b: 2, c: 3}}`,
			want: []metav1.ManagedFieldsEntry{
				of(entry("ours", apply, `{"f:data":{"f:a":{},"f:b":{},"f:c":{}}}`), inVersion("v1beta1")), entry("kubectl", update, `{"f:data":{"f:z":{}}}`),
			},
		},
		"what was applied before and written too, on record or not": {
			entries: []metav1.ManagedFieldsEntry{entry("metacontroller", update, `{"f:data":{"f:a":{},"f:b":{}}}`), entry("ours", apply, `{"f:data":{"f:a":{}}}`)},
			record:  `{}`,
			want:    []metav1.ManagedFieldsEntry{entry("metacontroller", update, `{"f:data":{"f:b":{}}}`), entry("ours", apply, `{"f:data":{"f:a":{}}}`)},
		},
		"list items whose keys the host has completed": {
			entries: []metav1.ManagedFieldsEntry{entry("metacontroller", update,
				`{"f:ports":{".":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{}},`+
					`"k:{\"port\":80,\"protocol\":\"UDP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{}},"k:{\"port\":99,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}`)},
			record: `{ports: [{name: t, port: 80}, {name: u, port: 80, protocol: UDP}]}`,
			want: []metav1.ManagedFieldsEntry{
				entry("metacontroller", update, `{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:protocol":{}},"k:{\"port\":99,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}`),
				entry("ours", apply, `{"f:ports":{".":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{}},`+
					`"k:{\"port\":80,\"protocol\":\"UDP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{}}}}`),
			},
		},
		"whole list items and set members": {
			entries: []metav1.ManagedFieldsEntry{entry("metacontroller", update, `{"f:metadata":{"f:finalizers":{"v:\"a/b\"":{},"v:\"c/d\"":{}},"f:ownerReferences":{"k:{\"uid\":\"u\"}":{},"k:{\"uid\":\"w\"}":{}}}}`)},
			record:  `{metadata: {finalizers: [a/b], ownerReferences: [{uid: u, kind: Web}]}}`,
			want: []metav1.ManagedFieldsEntry{
				entry("metacontroller", update, `{"f:metadata":{"f:finalizers":{"v:\"c/d\"":{}},"f:ownerReferences":{"k:{\"uid\":\"w\"}":{}}}}`),
				entry("ours", apply, `{"f:metadata":{"f:finalizers":{"v:\"a/b\"":{}},"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}}}`),
			},
		},
		"nothing there": {record: `{a: 1}`},
		"an entry without fields": {
			entries: []metav1.ManagedFieldsEntry{{Manager: "metacontroller", Operation: update, APIVersion: "v1"}}, record: `{a: 1}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := text(t, test.entries)
			got, err := managers.ToApply(test.entries, content(t, test.record))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(text(t, test.want), text(t, got)); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, text(t, test.entries)); diff != "" {
				t.Errorf("the entries that were given have changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestToUpdate(t *testing.T) {
	tests := map[string]struct{ entries, want []metav1.ManagedFieldsEntry }{
		"what was applied": {
			entries: []metav1.ManagedFieldsEntry{entry("ours", apply, `{"f:a":{}}`), entry("kubectl", apply, `{"f:b":{}}`), of(entry("ours", apply, `{"f:status":{}}`), ofStatus)},
			want:    []metav1.ManagedFieldsEntry{entry("kubectl", apply, `{"f:b":{}}`), of(entry("ours", apply, `{"f:status":{}}`), ofStatus), entry("metacontroller", update, `{"f:a":{}}`)},
		},
		"together with what was written": {
			entries: []metav1.ManagedFieldsEntry{entry("ours", apply, `{"f:a":{"f:x":{}}}`), entry("metacontroller", update, `{"f:a":{"f:y":{}}}`)},
			want:    []metav1.ManagedFieldsEntry{entry("metacontroller", update, `{"f:a":{"f:x":{},"f:y":{}}}`)},
		},
		"beside what was written in another version": {
			entries: []metav1.ManagedFieldsEntry{entry("ours", apply, `{"f:a":{}}`), of(entry("metacontroller", update, `{"f:b":{}}`), inVersion("v1beta1"))},
			want:    []metav1.ManagedFieldsEntry{of(entry("metacontroller", update, `{"f:b":{}}`), inVersion("v1beta1")), entry("metacontroller", update, `{"f:a":{}}`)},
		},
		"nothing there": {},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := text(t, test.entries)
			got, err := managers.ToUpdate(test.entries)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(text(t, test.want), text(t, got)); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, text(t, test.entries)); diff != "" {
				t.Errorf("the entries that were given have changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestFieldsThatCannotBeReadAreNotMoved(t *testing.T) {
	broken := []metav1.ManagedFieldsEntry{entry("metacontroller", update, `{"f:a":1}`), entry("ours", apply, `{"f:a":{}}`)}
	if got, err := managers.ToApply(broken, nil); err == nil {
		t.Errorf("to apply: %v", got)
	}
	if got, err := managers.ToUpdate(broken); err == nil {
		t.Errorf("to update: %v", got)
	}
}
