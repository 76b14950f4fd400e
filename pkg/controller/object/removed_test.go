// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import "testing"

// A Pod that lost its last finalizer stays for its grace period.
func TestAnObjectIsRemovedWithoutFinalizersAndGracePeriod(t *testing.T) {
	const deleted = `"deletionTimestamp":"2026-03-04T05:06:07Z"`
	tests := map[string]struct {
		metadata string
		want     bool
	}{
		"it is not being deleted":             {`"name":"a"`, false},
		"nothing holds it":                    {deleted, true},
		"its grace period is zero":            {deleted + `,"deletionGracePeriodSeconds":0`, true},
		"its grace period is null":            {deleted + `,"deletionGracePeriodSeconds":null`, true},
		"it is in its grace period":           {deleted + `,"deletionGracePeriodSeconds":30`, false},
		"another finalizer holds it":          {deleted + `,"finalizers":["other/one"]`, false},
		"another finalizer holds it, no time": {deleted + `,"deletionGracePeriodSeconds":0,"finalizers":["other/one"]`, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stored, err := Parse([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{` + test.metadata + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := stored.IsRemoved(); got != test.want {
				t.Errorf("that it is removed is %v", got)
			}
		})
	}
}
