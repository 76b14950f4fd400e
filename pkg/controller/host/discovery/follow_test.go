// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestWhichDefinitionsAreNews(t *testing.T) {
	for name, test := range map[string]struct {
		age     time.Duration
		written []time.Duration // ago, by one each
		initial bool
		want    bool
	}{
		"one that has long been there at the start":     {time.Hour, nil, true, false},
		"one that has long been as it is at the start":  {time.Hour, []time.Duration{time.Hour, 2 * time.Minute}, true, false},
		"one that has just been changed at the start":   {time.Hour, []time.Duration{time.Hour, time.Second, 2 * time.Minute}, true, true},
		"one that is there since a moment at the start": {time.Second, nil, true, true},
		"one that comes":                         {0, nil, false, true},
		"one that comes by a clock that is slow": {time.Hour, []time.Duration{time.Hour}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			var changed []string
			d := New(nil, func(group string) { changed = append(changed, group) })
			definition := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
				Name: "webs.ctl.example", CreationTimestamp: metav1.NewTime(time.Now().Add(-test.age)),
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "without a time"}},
			}}
			for _, ago := range test.written {
				definition.ManagedFields = append(definition.ManagedFields, metav1.ManagedFieldsEntry{Time: ptr.To(metav1.NewTime(time.Now().Add(-ago)))})
			}
			d.definitionAdded(definition, test.initial)
			if got := len(changed) == 1 && changed[0] == "ctl.example"; got != test.want || len(changed) > 1 {
				t.Errorf("changed are %v", changed)
			}
		})
	}
}
