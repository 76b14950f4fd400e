// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import "testing"

const hashed = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default","uid":"u-1",` +
	`"resourceVersion":"42","generation":7,"labels":{"app":"web"},"managedFields":[{"manager":"x"}]},"spec":{"replicas":1},"status":{"replicas":1}}`

func TestHashIsTheSameForTheSameContent(t *testing.T) {
	tests := map[string]string{
		"the same bytes": hashed,
		"another status": `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default","uid":"u-1",` +
			`"resourceVersion":"42","generation":7,"labels":{"app":"web"},"managedFields":[{"manager":"x"}]},"spec":{"replicas":1},"status":{"replicas":5,"a":[]}}`,
		"no status": `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default","uid":"u-1",` +
			`"resourceVersion":"42","generation":7,"labels":{"app":"web"},"managedFields":[{"manager":"x"}]},"spec":{"replicas":1}}`,
		"the status elsewhere": `{"status":{"replicas":1},"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default","uid":"u-1",` +
			`"resourceVersion":"42","generation":7,"labels":{"app":"web"},"managedFields":[{"manager":"x"}]},"spec":{"replicas":1}}`,
		"another resource version": `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default","uid":"u-1",` +
			`"resourceVersion":"43","generation":7,"labels":{"app":"web"},"managedFields":[{"manager":"x"}]},"spec":{"replicas":1},"status":{"replicas":1}}`,
		"no resource version and no generation": `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default","uid":"u-1",` +
			`"labels":{"app":"web"},"managedFields":[{"manager":"x"}]},"spec":{"replicas":1},"status":{"replicas":1}}`,
		"another generation": `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default","uid":"u-1",` +
			`"resourceVersion":"42","generation":8,"labels":{"app":"web"},"managedFields":[{"manager":"x"}]},"spec":{"replicas":1},"status":{"replicas":1}}`,
		"other managed fields": `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default","uid":"u-1",` +
			`"resourceVersion":"42","generation":7,"labels":{"app":"web"},"managedFields":[]},"spec":{"replicas":1},"status":{"replicas":1}}`,
		"the managed fields first": `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"managedFields":[],"name":"web","namespace":"default","uid":"u-1",` +
			`"resourceVersion":"42","generation":7,"labels":{"app":"web"}},"spec":{"replicas":1},"status":{"replicas":1}}`,
		"no managed fields": `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default","uid":"u-1",` +
			`"resourceVersion":"42","generation":7,"labels":{"app":"web"}},"spec":{"replicas":1},"status":{"replicas":1}}`,
	}
	want := mustParse(t, hashed).Hash
	for name, raw := range tests {
		t.Run(name, func(t *testing.T) {
			if got := mustParse(t, raw).Hash; got != want {
				t.Errorf("the hash of %s differs from that of %s", raw, hashed)
			}
		})
	}
}

func TestHashDiffersForDifferentContent(t *testing.T) {
	const base = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"a":1}}`
	tests := map[string]struct{ a, b string }{
		"another apiVersion":        {base, `{"apiVersion":"v2","kind":"Pod","metadata":{"name":"web"},"spec":{"a":1}}`},
		"another kind":              {base, `{"apiVersion":"v1","kind":"Job","metadata":{"name":"web"},"spec":{"a":1}}`},
		"another name":              {base, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"db"},"spec":{"a":1}}`},
		"another spec":              {base, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"a":2}}`},
		"no spec":                   {base, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}`},
		"one more field":            {base, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"a":1},"x":null}`},
		"another field's name":      {base, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"data":{"a":1}}`},
		"a namespace":               {`{"metadata":{"name":"web"}}`, `{"metadata":{"name":"web","namespace":"default"}}`},
		"another UID":               {`{"metadata":{"uid":"u-1"}}`, `{"metadata":{"uid":"u-2"}}`},
		"another label":             {`{"metadata":{"labels":{"a":"1"}}}`, `{"metadata":{"labels":{"a":"2"}}}`},
		"another annotation":        {`{"metadata":{"annotations":{"a":"1"}}}`, `{"metadata":{"annotations":{"a":"2"}}}`},
		"a label for an annotation": {`{"metadata":{"labels":{"a":"1"}}}`, `{"metadata":{"annotations":{"a":"1"}}}`},
		"another record of what was last applied": {
			`{"metadata":{"annotations":{"metacontroller.k8s.io/last-applied-configuration":"{}"}}}`,
			`{"metadata":{"annotations":{"metacontroller.k8s.io/last-applied-configuration":"{\"a\":1}"}}}`,
		},
		"another finalizer":                      {`{"metadata":{"finalizers":["a/b"]}}`, `{"metadata":{"finalizers":["a/c"]}}`},
		"another owner":                          {`{"metadata":{"ownerReferences":[{"uid":"a"}]}}`, `{"metadata":{"ownerReferences":[{"uid":"b"}]}}`},
		"deletion":                               {`{"metadata":{"name":"web"}}`, `{"metadata":{"name":"web","deletionTimestamp":"2026-03-04T05:06:07Z"}}`},
		"another grace period":                   {`{"metadata":{"deletionGracePeriodSeconds":0}}`, `{"metadata":{"deletionGracePeriodSeconds":30}}`},
		"metadata that is unknown":               {`{"metadata":{"clusterName":"a"}}`, `{"metadata":{"clusterName":"b"}}`},
		"a status below spec":                    {`{"spec":{"status":1}}`, `{"spec":{"status":2}}`},
		"a generation outside the metadata":      {`{"generation":1}`, `{"generation":2}`},
		"a status inside the metadata":           {`{"metadata":{"status":1}}`, `{"metadata":{"status":2}}`},
		"a field moved out of the metadata":      {`{"metadata":{"name":"web","labels":{"a":"1"}}}`, `{"metadata":{"name":"web"},"labels":{"a":"1"}}`},
		"a field moved into the metadata":        {`{"labels":{"a":"1"},"metadata":{"name":"web"}}`, `{"metadata":{"labels":{"a":"1"},"name":"web"}}`},
		"the values of two fields exchanged":     {`{"a":1,"b":2}`, `{"a":2,"b":1}`},
		"the end of one value in the next name":  {`{"a":1,"b":2}`, `{"a":"1,\"b\":2"}`},
		"a managedFields outside the metadata":   {`{"managedFields":[1]}`, `{"managedFields":[2]}`},
		"a resource version beside the metadata": {`{"resourceVersion":"1"}`, `{"resourceVersion":"2"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if mustParse(t, test.a).Hash == mustParse(t, test.b).Hash {
				t.Errorf("%s and %s have the same hash", test.a, test.b)
			}
		})
	}
}
