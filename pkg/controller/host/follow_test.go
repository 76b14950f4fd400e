// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhichDefinitionsAreNews(t *testing.T) {
	for name, test := range map[string]struct {
		age     time.Duration
		initial bool
		want    bool
	}{
		"one that has long been there at the start": {time.Hour, true, false},
		"one that is there since a moment":          {time.Second, true, true},
		"one that comes":                            {0, false, true},
		"one that comes by a clock that is slow":    {time.Hour, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			var changed []string
			d := NewDiscovery(nil, func(group string) { changed = append(changed, group) })
			d.definitionAdded(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
				Name: "webs.ctl.example", CreationTimestamp: metav1.NewTime(time.Now().Add(-test.age)),
			}}, test.initial)
			if got := len(changed) == 1 && changed[0] == "ctl.example"; got != test.want || len(changed) > 1 {
				t.Errorf("changed are %v", changed)
			}
		})
	}
}
