// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// A parent with thousands of children is synced once for each change, and unchanged children are
// not written.
func TestAParentWithThousandsOfChildren(t *testing.T) {
	const children, most = 2000, 18 * time.Second
	var wanted, version atomic.Int64
	wanted.Store(children)
	f := prepare(t, hook.Answering(t, func(request) object {
		desired := make([]object, wanted.Load())
		for i := range desired {
			value := strings.Repeat("x", 1<<10)
			if i == children/2 {
				value = fmt.Sprint(version.Load())
			}
			desired[i] = hook.ConfigMap(child(i), object{"value": value})
		}
		return object{"children": desired}
	}))
	timed := func(what string, within time.Duration, do func()) {
		t.Helper()
		started := time.Now()
		do()
		took := time.Since(started)
		t.Logf("%s: %s", what, took.Round(time.Millisecond))
		if took > within {
			slowness := f.slowness()
			t.Logf("the machine is %.1f times as slow as when it is idle", slowness)
			if took > time.Duration(float64(within)*slowness) {
				t.Errorf("%s takes %s, more than %s", what, took, within)
			}
		}
	}
	f.CreateParent("p", object{"value": ""})
	f.start()
	timed("create all", most, func() { f.waitForChildren(children) })
	calls := f.settle("p")

	from := env.AuditEnd(t)
	for i := range 3 {
		timed("touch", 10*time.Second, func() {
			f.Touch("p", fmt.Sprint(i))
			f.WaitForCalls(calls + i + 1)
		})
	}
	if made := f.settle("p") - harness.SettleCalls - calls; made != 3 {
		t.Errorf("3 changes of the parent made %d calls", made)
	}
	if writes := f.writes(from, configMaps); len(writes) > 0 {
		t.Errorf("changes of the parent that make no difference led to %d writes", len(writes))
	}

	from = env.AuditEnd(t)
	version.Store(1)
	timed("change one", 10*time.Second, func() {
		f.Touch("p", "change")
		f.timeUntilValue(child(children/2), "1")
	})
	f.settle("p")
	if writes := f.writes(from, configMaps); !slices.Equal(writes, []string{"update"}) {
		t.Errorf("the change of one child led to %d writes", len(writes))
	}

	from = env.AuditEnd(t)
	wanted.Store(0)
	timed("delete all", most, func() {
		f.Touch("p", "delete")
		f.waitForChildren(0)
	})
	f.settle("p")
	writes := f.writes(from, configMaps)
	if len(writes) != children || slices.ContainsFunc(writes, func(verb string) bool { return verb != "delete" }) {
		t.Errorf("deleting %d children took %d writes, of the kinds %v", children, len(writes), slices.Compact(slices.Sorted(slices.Values(writes))))
	}
}

func child(i int) string { return fmt.Sprintf("child-%04d", i) }

// waitForChildren waits until there are so many ConfigMaps in the namespace.
func (f *fixture) waitForChildren(count int) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		list, err := env.Kube.CoreV1().ConfigMaps(f.Namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return err
		}
		found := len(list.Items)
		if rest := list.RemainingItemCount; rest != nil {
			found += int(*rest)
		}
		if found != count {
			return fmt.Errorf("there are %d children, not %d", found, count)
		}
		return nil
	})
}
