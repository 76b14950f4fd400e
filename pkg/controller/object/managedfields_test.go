// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"
)

func TestOwners(t *testing.T) {
	const (
		recorded = `"metacontroller.k8s.io/last-applied-configuration":"{}"`
		ours     = `{"manager":"metacontroller","operation":"Update","apiVersion":"v1","time":"2026-03-04T05:06:07Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:ours":{}}}}`
		edit     = `{"manager":"kubectl-edit","operation":"Update","apiVersion":"v1","time":"2026-03-04T05:06:08Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:theirs":{}}}}`
		scale    = `{"manager":"autoscaler","operation":"Update","subresource":"scale","fieldsV1":{"f:spec":{"f:replicas":{}}}}`
		label    = `{"manager":"kubectl-label","operation":"Update","fieldsV1":{"f:metadata":{"f:labels":{"f:x":{}}}}}`
		both     = `{"manager":"kubectl","operation":"Apply","fieldsV1":{"f:metadata":{"f:labels":{"f:x":{}}},"f:data":{"f:a":{}},"f:immutable":{}}}`
		status   = `{"manager":"kubelet","operation":"Update","subresource":"status","fieldsV1":{"f:status":{"f:phase":{}}}}`
		applied  = `{"manager":"metacontroller","operation":"Apply","fieldsV1":{"f:data":{"f:a":{}}}}`
		ourScale = `{"manager":"metacontroller","operation":"Update","subresource":"scale","fieldsV1":{"f:spec":{"f:replicas":{}}}}`
	)
	with := func(others string) string { return `{"ours":[{"f:data":{"f:ours":{}}}],"others":` + others + `}` }
	tests := map[string]struct{ annotations, managers, want string }{
		"nobody else has written it":                    {recorded, ours, with(`[]`)},
		"somebody has edited it":                        {recorded, ours + "," + edit, with(`[{"f:data":{"f:theirs":{}}}]`)},
		"somebody has, before we did":                   {recorded, edit + "," + ours, with(`[{"f:data":{"f:theirs":{}}}]`)},
		"several have":                                  {recorded, edit + "," + ours + "," + scale, with(`[{"f:data":{"f:theirs":{}}},{"f:spec":{"f:replicas":{}}}]`)},
		"what is in metadata does not count":            {recorded, ours + "," + label, with(`[]`)},
		"what is beside it does":                        {recorded, ours + "," + both, with(`[{"f:data":{"f:a":{}},"f:immutable":{}}]`)},
		"a status does not count":                       {recorded, ours + "," + status, with(`[]`)},
		"our own server-side apply is another":          {recorded, ours + "," + applied, with(`[{"f:data":{"f:a":{}}}]`)},
		"our own scaling is another":                    {recorded, ours + "," + ourScale, with(`[{"f:spec":{"f:replicas":{}}}]`)},
		"we have written it in two versions":            {recorded, ours + "," + ours, `{"ours":[{"f:data":{"f:ours":{}}},{"f:data":{"f:ours":{}}}],"others":[]}`},
		"we have written its metadata alone":            {recorded, strings.Replace(label, "kubectl-label", "metacontroller", 1) + "," + edit, `{"ours":[],"others":[{"f:data":{"f:theirs":{}}}]}`},
		"we have written its metadata and more":         {recorded, strings.Replace(strings.Replace(both, "kubectl", "metacontroller", 1), "Apply", "Update", 1), `{"ours":[{"f:data":{"f:a":{}},"f:immutable":{}}],"others":[]}`},
		"an entry without fields":                       {recorded, ours + `,{"manager":"x","operation":"Update"}`, with(`[]`)},
		"we have not written it":                        {recorded, edit, ``},
		"we have only applied it":                       {recorded, applied, ``},
		"we have only scaled it":                        {recorded, ourScale, ``},
		"nobody is known to have":                       {recorded, ``, ``},
		"there is no record of what was applied":        {`"other":"{}"`, ours + "," + edit, ``},
		"managedFields are not what Kubernetes writes":  {recorded, ours + `,5`, ``},
		"a set of fields is not what Kubernetes writes": {recorded, ours + `,{"manager":"x","fieldsV1":[]}`, ``},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, raw := range []string{
				fmt.Sprintf(`{"metadata":{"annotations":{%s},"managedFields":[%s],"name":"a"}}`, test.annotations, test.managers),
				fmt.Sprintf(`{"metadata":{"managedFields":[%s],"name":"a","annotations":{%s}}}`, test.managers, test.annotations),
			} {
				if got := mustParse(t, raw).Owners; got != test.want {
					t.Errorf("the owners are %q, want %q", got, test.want)
				}
			}
		})
	}
	t.Run("of repeated metadata the last counts", func(t *testing.T) {
		raw := fmt.Sprintf(`{"metadata":{"annotations":{%s},"managedFields":[%s]},"metadata":{"name":"b"}}`, recorded, ours)
		if got := mustParse(t, raw).Owners; got != "" {
			t.Errorf("the owners are %q", got)
		}
	})
}

// The sets of fields are as large as a small object, and children of one kind have the same ones.
func TestObjectsOfAReaderShareTheirOwners(t *testing.T) {
	child := func(name, padding string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"annotations":{"metacontroller.k8s.io/last-applied-configuration":"{}"},"managedFields":[{"manager":"metacontroller","operation":"Update","time":%q,"fieldsV1":{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"%s\"}":{}}},"f:data":{"f:%s":{}}}}]}}`,
			name, name, name, padding)
	}
	reader := NewReader("ours")
	owners := func(name, padding string) *byte {
		t.Helper()
		read, err := reader.Parse([]byte(child(name, padding)))
		if err != nil {
			t.Fatal(err)
		}
		if read.Owners == "" {
			t.Fatal("there are no owners")
		}
		return unsafe.StringData(read.Owners)
	}
	if owners("a", "x") != owners("b", "x") {
		t.Error("two children have copies of the same owners")
	}
	if large := strings.Repeat("x", maxInternedOwners); owners("a", large) == owners("b", large) {
		t.Error("what is too large to come again is kept")
	}
}

func TestAReaderKeepsWhatTheManagerApplied(t *testing.T) {
	const fields = `{"f:data":{"f:a":{}}}`
	tests := map[string]struct{ managedFields, want string }{
		"what it applied":                         {`[{"manager":"kubectl","operation":"Apply","fieldsV1":{"f:x":{}}},{"manager":"ours","operation":"Apply","apiVersion":"v1","time":"2026-03-04T05:06:07Z","fieldsType":"FieldsV1","fieldsV1":` + fields + `}]`, fields},
		"not what it updated":                     {`[{"manager":"ours","operation":"Update","fieldsV1":` + fields + `},{"manager":"kubectl","operation":"Apply"}]`, ""},
		"not what it applied to the status":       {`[{"manager":"ours","operation":"Apply","fieldsV1":` + fields + `,"subresource":"status"}]`, ""},
		"not what another one with its name does": {`[{"manager":"ours too","operation":"Apply","fieldsV1":` + fields + `,"x":"ours"}]`, ""},
		"nothing there":                           {`[]`, ""},
		"nothing of something else":               {`{"manager":"ours","operation":"Apply"}`, ""},
		"nothing of entries that are none":        {`["ours","Apply"]`, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			raw := `{"metadata":{"name":"a","managedFields":` + test.managedFields + `},"data":{"a":"1"}}`
			got, err := NewReader("ours").Parse([]byte(raw))
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Applied) != test.want || (got.Applied == nil) != (test.want == "") {
				t.Errorf("applied is %q, want %q", got.Applied, test.want)
			}
			unowned := mustParse(t, raw)
			if unowned.Applied != nil || unowned.Hash != got.Hash || string(unowned.JSON()) != string(got.JSON()) {
				t.Errorf("without a manager it is %s, applied %s", unowned.JSON(), unowned.Applied)
			}
		})
	}
}

func TestWhatWasAppliedMayHaveAnotherOwnerOfOurs(t *testing.T) {
	const applied = `{"manager":"ours","operation":"Apply","fieldsV1":{"f:data":{"f:a":{}}}}`
	tests := map[string]struct {
		other string
		want  bool
	}{
		"our updates":           {`{"manager":"metacontroller","operation":"Update","fieldsV1":{"f:data":{"f:a":{}}}}`, true},
		"our updates elsewhere": {`{"manager":"metacontroller","operation":"Update","fieldsV1":{"f:data":{"f:b":{}}}}`, false},
		"our status updates":    {`{"manager":"metacontroller","operation":"Update","subresource":"status","fieldsV1":{"f:data":{"f:a":{}}}}`, false},
		"somebody else":         {`{"manager":"kubectl","operation":"Update","fieldsV1":{"f:data":{"f:a":{}}}}`, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := NewReader("ours").Parse([]byte(`{"metadata":{"managedFields":[` + test.other + `,` + applied + `]}}`))
			if err != nil || got.Shared != test.want {
				t.Errorf("shared is %v, want %v (%v)", got.Shared, test.want, err)
			}
		})
	}
}

func TestWhatIsKeptOfManagedFieldsDoesNotKeepTheRest(t *testing.T) {
	raw := []byte(`{"metadata":{"managedFields":[{"manager":"ours","operation":"Apply","fieldsV1":{"f:a":{}}}]}}`)
	got, err := NewReader("ours").Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	clear(raw)
	if string(got.Applied) != `{"f:a":{}}` {
		t.Errorf("applied is %q", got.Applied)
	}
}
