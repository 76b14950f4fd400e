// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/registrytest"
)

func TestTableOfSyncs(t *testing.T) {
	now := time.Unix(100_000, 0)
	at := func(after time.Duration) *metav1.MicroTime { return &metav1.MicroTime{Time: now.Add(after)} }
	of := func(kind, name string, status v1alpha1.SyncStatus) *v1alpha1.Sync {
		return &v1alpha1.Sync{
			ObjectMeta: metav1.ObjectMeta{Name: "n"},
			Spec: v1alpha1.SyncSpec{
				Controller: v1alpha1.ControllerReference{Kind: kind, Name: name}, Parent: v1alpha1.ParentReference{Kind: "Web", Name: "shop"},
			},
			Status: status,
		}
	}
	for name, test := range map[string]struct {
		row  *v1alpha1.Sync
		want string
	}{
		"a parent that was not synced yet": {
			of("CompositeController", "webs", v1alpha1.SyncStatus{State: v1alpha1.SyncStateWaiting, Message: "wait"}),
			"n cc/webs Web/shop Waiting <unknown> <none> <none> wait | <none> 0",
		},
		"one that is synced": {
			of("DecoratorController", "dec", v1alpha1.SyncStatus{
				State: v1alpha1.SyncStateSynced, Children: &v1alpha1.SyncChildren{Wanted: 4, AsWanted: 3}, LastSyncTime: at(-90 * time.Second),
				LastSyncDuration: &metav1.Duration{Duration: 12_345 * time.Microsecond}, NextSyncTime: at(30 * time.Minute),
			}),
			"n dec/dec Web/shop Synced 3/4 90s 30m  | 12ms 0",
		},
		"one that is due": {
			of("CompositeController", "webs", v1alpha1.SyncStatus{
				State: v1alpha1.SyncStateFailing, NextSyncTime: at(-time.Minute), Backoff: &v1alpha1.SyncBackoff{Failures: 7}, Message: strings.Repeat("ä", 130),
			}),
			"n cc/webs Web/shop Failing <unknown> <none> 0s " + strings.Repeat("ä", 58) + "… | <none> 7",
		},
	} {
		t.Run(name, func(t *testing.T) {
			const header = "NAME CONTROLLER PARENT STATE CHILDREN LAST NEXT MESSAGE | TOOK RETRIES\n"
			if diff := cmp.Diff(header+test.want, registrytest.Table(t, newSyncTable(func() time.Time { return now }), test.row)); diff != "" {
				t.Errorf("table differs (-want +got):\n%s", diff)
			}
		})
	}
}
