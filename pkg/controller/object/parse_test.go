// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func mustParse(t testing.TB, raw string) *Object {
	t.Helper()
	parsed, err := Parse([]byte(raw))
	if err != nil {
		t.Fatalf("Parse(%s): %v", raw, err)
	}
	return parsed
}

func TestParseReadsTheMetadata(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC))
	tests := map[string]struct {
		raw  string
		kind metav1.TypeMeta
		want metav1.ObjectMeta
	}{
		"everything that decisions need": {
			raw: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{
				"name":"web","generateName":"web-","namespace":"default","uid":"u-1","resourceVersion":"42","generation":7,
				"creationTimestamp":"2026-03-04T05:06:07Z","deletionTimestamp":"2026-03-04T05:06:07Z","deletionGracePeriodSeconds":30,
				"labels":{"app":"web"},"annotations":{"note":"hello"},"finalizers":["a/b","c/d"],
				"ownerReferences":[{"apiVersion":"v1","kind":"Parent","name":"p","uid":"u-0","controller":true,"blockOwnerDeletion":false}]
			},"spec":{"replicas":1}}`,
			kind: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
			want: metav1.ObjectMeta{
				Name: "web", GenerateName: "web-", Namespace: "default", UID: "u-1", ResourceVersion: "42", Generation: 7,
				CreationTimestamp: at, DeletionTimestamp: &at, DeletionGracePeriodSeconds: ptr.To[int64](30),
				Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"note": "hello"}, Finalizers: []string{"a/b", "c/d"},
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "v1", Kind: "Parent", Name: "p", UID: "u-0", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(false),
				}},
			},
		},
		"an object without metadata": {raw: `{"kind":"Pod"}`, kind: metav1.TypeMeta{Kind: "Pod"}},
		"an object without anything": {raw: `{}`},
		"white space around everything": {
			raw:  " \n{ \"kind\" : \"Pod\" ,\t\"metadata\" : { \"name\" : \"web\" } } \r\n",
			kind: metav1.TypeMeta{Kind: "Pod"}, want: metav1.ObjectMeta{Name: "web"},
		},
		"nulls stand for what is not there": {
			raw: `{"apiVersion":null,"kind":null,"metadata":{"name":null,"generateName":null,"namespace":null,"uid":null,"resourceVersion":null,
				"generation":null,"creationTimestamp":null,"deletionTimestamp":null,"deletionGracePeriodSeconds":null,"labels":null,"annotations":null,"finalizers":null,
				"ownerReferences":null,"managedFields":null}}`,
		},
		"a null for all metadata":                       {raw: `{"kind":"Pod","metadata":null}`, kind: metav1.TypeMeta{Kind: "Pod"}},
		"a null for one label is an empty one":          {raw: `{"metadata":{"labels":{"a":null}}}`, want: metav1.ObjectMeta{Labels: map[string]string{"a": ""}}},
		"no labels in empty labels":                     {raw: `{"metadata":{"labels":{}}}`},
		"metadata that Kubernetes does not know":        {raw: `{"metadata":{"name":"web","clusterName":5}}`, want: metav1.ObjectMeta{Name: "web"}},
		"fields called metadata elsewhere do not count": {raw: `{"spec":{"metadata":{"name":"other"}},"metadata":{"name":"web"}}`, want: metav1.ObjectMeta{Name: "web"}},
		"names in another case do not count":            {raw: `{"Kind":"Pod","metadata":{"Name":"web"}}`},
		"escapes in names and values": {
			raw:  `{"k\u0069nd":"P\u006fd","metadata":{"name":"\u0077eb","labels":{"\u0061":"\"\\\n\u00e9\ud83d\ude00"}}}`,
			kind: metav1.TypeMeta{Kind: "Pod"}, want: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"a": "\"\\\né😀"}},
		},
		"text beyond ASCII": {
			raw:  `{"metadata":{"annotations":{"grüße":"日本語 😀"}}}`,
			want: metav1.ObjectMeta{Annotations: map[string]string{"grüße": "日本語 😀"}},
		},
		"the annotations that repeat a whole object are left out": {
			raw:  `{"metadata":{"annotations":{"a":"1","metacontroller.k8s.io/last-applied-configuration":"{}","b":"2","kubectl.kubernetes.io/last-applied-configuration":"{}"}}}`,
			want: metav1.ObjectMeta{Annotations: map[string]string{"a": "1", "b": "2"}},
		},
		"of a repeated name the last counts": {
			raw: `{"kind":"Service","kind":"Pod","metadata":{"name":"a","name":"b","labels":{"a":"1","b":"2","a":"3"},"labels":{"a":"4"},
				"ownerReferences":[{"uid":"u-1","controller":true},{"uid":"u-2"}],"ownerReferences":[{"uid":"u-3"}]}}`,
			kind: metav1.TypeMeta{Kind: "Pod"},
			want: metav1.ObjectMeta{Name: "b", Labels: map[string]string{"a": "4"}, OwnerReferences: []metav1.OwnerReference{{UID: "u-3"}}},
		},
		"of repeated metadata the last counts": {
			raw:  `{"metadata":{"name":"a","namespace":"default","labels":{"a":"1"}},"metadata":{"name":"b"}}`,
			want: metav1.ObjectMeta{Name: "b"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			parsed := mustParse(t, test.raw)
			if diff := cmp.Diff(test.kind, parsed.TypeMeta); diff != "" {
				t.Errorf("type (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, parsed.ObjectMeta); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseCutsOutManagedFieldsAndNothingElse(t *testing.T) {
	tests := map[string]struct{ raw, want string }{
		"there are none": {
			raw:  `{"metadata":{"name":"web"},"spec":{"a":[1, 2.50, 1e3]}}`,
			want: `{"metadata":{"name":"web"},"spec":{"a":[1, 2.50, 1e3]}}`,
		},
		"first": {
			raw:  `{"metadata":{"managedFields":[{"manager":"x"}],"name":"web"},"spec":{}}`,
			want: `{"metadata":{"name":"web"},"spec":{}}`,
		},
		"in the middle": {
			raw:  `{"metadata":{"name":"web","managedFields":[{"manager":"x"}],"uid":"u"},"spec":{}}`,
			want: `{"metadata":{"name":"web","uid":"u"},"spec":{}}`,
		},
		"last": {
			raw:  `{"metadata":{"name":"web","managedFields":[{"manager":"x"}]},"spec":{}}`,
			want: `{"metadata":{"name":"web"},"spec":{}}`,
		},
		"alone": {
			raw:  `{"metadata":{"managedFields":[{"manager":"x"}]},"spec":{}}`,
			want: `{"metadata":{},"spec":{}}`,
		},
		"first, with white space": {
			raw:  "{ \"metadata\" : { \"managedFields\" : [ ] , \"name\" : \"web\" } }\n",
			want: "{ \"metadata\" : { \"name\" : \"web\" } }\n",
		},
		"in the middle, with white space": {
			raw:  "{ \"metadata\" : { \"name\" : \"web\" , \"managedFields\" : [ ] , \"uid\" : \"u\" } }",
			want: "{ \"metadata\" : { \"name\" : \"web\" , \"uid\" : \"u\" } }",
		},
		"last, with white space": {
			raw:  "{ \"metadata\" : { \"name\" : \"web\" , \"managedFields\" : [ ] } }",
			want: "{ \"metadata\" : { \"name\" : \"web\" } }",
		},
		"null": {
			raw:  `{"metadata":{"managedFields":null,"name":"web"}}`,
			want: `{"metadata":{"name":"web"}}`,
		},
		"with an escape in the name": {
			raw:  `{"metadata":{"name":"web","managed\u0046ields":[]}}`,
			want: `{"metadata":{"name":"web"}}`,
		},
		"twice, apart": {
			raw:  `{"metadata":{"managedFields":[1],"name":"web","managedFields":[2],"uid":"u"}}`,
			want: `{"metadata":{"name":"web","uid":"u"}}`,
		},
		"twice, first": {
			raw:  `{"metadata":{"managedFields":[1],"managedFields":[2],"name":"web"}}`,
			want: `{"metadata":{"name":"web"}}`,
		},
		"twice, last": {
			raw:  `{"metadata":{"name":"web","managedFields":[1],"managedFields":[2]}}`,
			want: `{"metadata":{"name":"web"}}`,
		},
		"twice, alone": {
			raw:  `{"metadata":{"managedFields":[1],"managedFields":[2]}}`,
			want: `{"metadata":{}}`,
		},
		"in repeated metadata": {
			raw:  `{"metadata":{"managedFields":[1],"name":"a"},"metadata":{"name":"b","managedFields":[2]}}`,
			want: `{"metadata":{"name":"a"},"metadata":{"name":"b"}}`,
		},
		"not those of a Pod template": {
			raw:  `{"spec":{"template":{"metadata":{"managedFields":[1]}}},"managedFields":[2],"metadata":{"managedFields":[3]}}`,
			want: `{"spec":{"template":{"metadata":{"managedFields":[1]}}},"managedFields":[2],"metadata":{}}`,
		},
		"the annotations that Parse leaves out stay in the JSON": {
			raw:  `{"metadata":{"annotations":{"metacontroller.k8s.io/last-applied-configuration":"{}"},"managedFields":[]}}`,
			want: `{"metadata":{"annotations":{"metacontroller.k8s.io/last-applied-configuration":"{}"}}}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := string(mustParse(t, test.raw).JSON()); got != test.want {
				t.Errorf("JSON is\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := map[string]struct{ raw, want string }{
		"nothing":                      {"", "EOF"},
		"white space":                  {" \n", "EOF"},
		"null":                         {"null", "expected an object, found null"},
		"a list":                       {"[]", "expected an object, found []"},
		"a string":                     {`"text"`, `expected an object, found "text"`},
		"HTML":                         {"<html></html>", "invalid character '<'"},
		"half an object":               {`{"kind":"Pod","metadata":{"na`, "unexpected EOF"},
		"an object that is not closed": {`{"kind":"Pod"`, "unexpected EOF"},
		"a comma before the end":       {`{"kind":"Pod",}`, "invalid character ','"},
		"a name without quotes":        {`{kind:"Pod"}`, "invalid character 'k'"},
		"two objects": {
			`{"kind":"Pod"} {"kind":"Pod"}`, `"{\"kind\":\"Pod\"}" follows the end of the object`,
		},
		"text after the object": {`{}garbage`, `"garbage" follows the end of the object`},
		"a long text after the object": {
			`{}` + strings.Repeat("x", 1000), `"` + strings.Repeat("x", 37) + `…" follows the end of the object`,
		},
		"a number for apiVersion": {`{"apiVersion":1}`, "apiVersion: expected a string, found 1"},
		"an object for kind":      {`{"kind":{"a":1}}`, `kind: expected a string, found {"a":1}`},
		"a long value for kind": {
			`{"kind":["` + strings.Repeat("x", 1000) + `"]}`,
			`kind: expected a string, found ["` + strings.Repeat("x", 35) + "…",
		},
		"a value that is not too long":      {`{"kind":["` + strings.Repeat("x", 36) + `"]}`, `kind: expected a string, found ["` + strings.Repeat("x", 36) + `"]`},
		"a list for metadata":               {`{"metadata":[]}`, "metadata: expected an object, found []"},
		"a number for the name":             {`{"metadata":{"name":5}}`, "metadata.name: expected a string, found 5"},
		"a number for the namespace":        {`{"metadata":{"namespace":5}}`, "metadata.namespace: expected a string, found 5"},
		"a list for generateName":           {`{"metadata":{"generateName":[]}}`, "metadata.generateName: expected a string, found []"},
		"a truth value for the UID":         {`{"metadata":{"uid":true}}`, "metadata.uid: expected a string, found true"},
		"a number for the resource version": {`{"metadata":{"resourceVersion":5}}`, "metadata.resourceVersion: expected a string, found 5"},
		"a string for the generation":       {`{"metadata":{"generation":"5"}}`, `metadata.generation: expected a number, found "5"`},
		"a broken generation": {`{"metadata":{"generation":1.5}}`, "metadata.generation: 1.5 is not an " +
			"integer"},
		"a list for labels": {`{"metadata":{"labels":["a"]}}`, `metadata.labels: expected an object, found ` +
			`["a"]`},
		"a number for a label": {`{"metadata":{"labels":{"app":1}}}`, "metadata.labels[app]: expected a " +
			"string, found 1"},
		"a truth value for an annotation": {`{"metadata":{"annotations":{"on":true}}}`, "metadata.annotations[on]: " +
			"expected a string, found true"},
		"an object for finalizers": {`{"metadata":{"finalizers":{}}}`, "metadata.finalizers: a JSON object is not " +
			"allowed here"},
		"a number for an owner's UID": {`{"metadata":{"ownerReferences":[{"uid":5}]}}`, "metadata.ownerReferences: a " +
			"JSON number is not allowed here"},
		"a date that is none": {`{"metadata":{"deletionTimestamp":"yesterday"}}`,
			`metadata.deletionTimestamp: expected a time such as 2026-01-31T12:00:00Z`},
		"a text for the grace period": {`{"metadata":{"deletionGracePeriodSeconds":"30"}}`,
			"metadata.deletionGracePeriodSeconds: a JSON string is not allowed here"},
		"a number for a date": {`{"metadata":{"creationTimestamp":5}}`, "metadata.creationTimestamp: a JSON " +
			"number is not allowed here"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			parsed, err := Parse([]byte(test.raw))
			if err == nil {
				t.Fatalf("parsed as %s", parsed.JSON())
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %q, want it to say %q", err, test.want)
			}
		})
	}
}

// The caches hold objects for as long as they exist; a watch's frame that hung on
// to each of them would double the memory.
func TestParseKeepsNoPartOfItsInput(t *testing.T) {
	raw := []byte(`{"kind":"Pod","metadata":{"name":"web","labels":{"app":"web"}},"data":"` + strings.Repeat("x", 1<<16) + `"}`)
	input := weak.Make(&raw[0])
	parsed, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	if input.Value() != nil {
		t.Error("the input is still reachable through the object")
	}
	runtime.KeepAlive(parsed)
}

func TestParseLeavesItsInputAlone(t *testing.T) {
	raw := []byte(`{"kind":"Pod","metadata":{"managedFields":[1],"name":"\u0077eb"}}`)
	before := bytes.Clone(raw)
	parsed, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(raw, before) {
		t.Errorf("the input became %s", raw)
	}
	clear(raw)
	if got, want := string(parsed.JSON()), `{"kind":"Pod","metadata":{"name":"\u0077eb"}}`; got != want || parsed.Name != "web" {
		t.Errorf("the object changes with its input: %s", got)
	}
}

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

func TestObjectsOfAList(t *testing.T) {
	const (
		pod     = `{"kind":"Pod","metadata":{"name":"a","labels":{"a":"1"},"annotations":{"metacontroller.k8s.io/last-applied-configuration":"{}"}},"x":[{}]}`
		managed = `{"kind":"Pod","metadata":{"name":"b","managedFields":[{"manager":"x"}]}}`
	)
	tests := map[string]struct {
		list string
		want []string // the objects' texts, null for none
	}{
		"no objects":                    {`[]`, nil},
		"null":                          {`null`, nil},
		"objects":                       {`[` + pod + `,` + managed + `,` + pod + `]`, []string{pod, managed, pod}},
		"objects with white space":      {" [ " + pod + " ,\n\t" + managed + " ]", []string{pod, managed}},
		"nulls between":                 {`[null,` + pod + `, null ,` + managed + `]`, []string{"null", pod, "null", managed}},
		"one without anything":          {`[{},{}]`, []string{"{}", "{}"}},
		"nothing is left of the former": {`[` + managed + `,{"kind":"Pod"}]`, []string{managed, `{"kind":"Pod"}`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var want, got []*Object
			for _, text := range test.want {
				if text == "null" {
					want = append(want, nil)
				} else {
					want = append(want, mustParse(t, text))
				}
			}
			for o, err := range Objects([]byte(test.list)) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, o)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(Object{})); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestObjectsEndWithTheFirstError(t *testing.T) {
	tests := map[string]struct {
		list, want string
		before     int
	}{
		"no list":           {`{}`, "list: expected a list, found {}", 0},
		"a text":            {`[{},"a",{}]`, `expected an object, found "a"`, 1},
		"a name of no text": {`[{},{},{"metadata":{"name":5}},{}]`, "metadata.name: expected a string, found 5", 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			read, failed := 0, ""
			for _, err := range Objects([]byte(test.list)) {
				switch {
				case failed != "":
					t.Error("it goes on after an error")
				case err != nil:
					failed = err.Error()
				default:
					read++
				}
			}
			if read != test.before || failed != test.want {
				t.Errorf("after %d objects the error is %q, want %q after %d", read, failed, test.want, test.before)
			}
		})
	}
}
