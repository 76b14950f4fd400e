// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"
	"testing"
)

func TestOthers(t *testing.T) {
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
	tests := map[string]struct{ annotations, managers, want string }{
		"nobody else has written it":                    {recorded, ours, `[]`},
		"somebody has edited it":                        {recorded, ours + "," + edit, `[{"f:data":{"f:theirs":{}}}]`},
		"somebody has, before we did":                   {recorded, edit + "," + ours, `[{"f:data":{"f:theirs":{}}}]`},
		"several have":                                  {recorded, edit + "," + ours + "," + scale, `[{"f:data":{"f:theirs":{}}},{"f:spec":{"f:replicas":{}}}]`},
		"what is in metadata does not count":            {recorded, ours + "," + label, `[]`},
		"what is beside it does":                        {recorded, ours + "," + both, `[{"f:data":{"f:a":{}},"f:immutable":{}}]`},
		"a status does not count":                       {recorded, ours + "," + status, `[]`},
		"our own server-side apply is another":          {recorded, ours + "," + applied, `[{"f:data":{"f:a":{}}}]`},
		"our own scaling is another":                    {recorded, ours + "," + ourScale, `[{"f:spec":{"f:replicas":{}}}]`},
		"we have written it in two versions":            {recorded, ours + "," + ours, `[]`},
		"an entry without fields":                       {recorded, ours + `,{"manager":"x","operation":"Update"}`, `[]`},
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
				if got := mustParse(t, raw).Others; got != test.want {
					t.Errorf("others are %q, want %q", got, test.want)
				}
			}
		})
	}
	t.Run("of repeated metadata the last counts", func(t *testing.T) {
		raw := fmt.Sprintf(`{"metadata":{"annotations":{%s},"managedFields":[%s]},"metadata":{"name":"b"}}`, recorded, ours)
		if got := mustParse(t, raw).Others; got != "" {
			t.Errorf("others are %q", got)
		}
	})
}
