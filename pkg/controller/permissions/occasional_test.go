// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// updates is the right to update pods in a namespace.
func updates(namespace string) rights.Right {
	return rights.Right{Verb: "update", Object: rights.Object{GroupResource: schema.GroupResource{Resource: "pods"}, Namespace: namespace}}
}

func TestAnOccasionalRightIsAskedForWhenItIsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := allowing("update pods")
		p := started(t, cluster)
		expect := func(when string, want bool, asked int) {
			t.Helper()
			got, err := p.Allows(t.Context(), *websites, updates("shop"))
			if err != nil || got != want || cluster.asked() != asked {
				t.Errorf("%s: allowed is %t, error %v after %d reviews, want %t after %d", when, got, err, cluster.asked(), want, asked)
			}
		}
		for range 100 {
			expect("again and again", true, 1)
		}
		<-time.After(RefreshInterval)
		expect("after a while", true, 2)
		cluster.change(func(c *host) { c.allows.Delete("update pods") })
		<-time.After(RefreshInterval)
		expect("after it was withdrawn", false, 3)
		expect("right after that", false, 3)
		<-time.After(time.Hour)
		expect("after nobody has asked for long", false, 4)
		<-time.After(2 * Patience)
		if kept := len(p.inUse(func(*answer) bool { return true })); kept > 0 {
			t.Errorf("%d answers are kept that nobody needs", kept)
		}
	})
}

func TestAnOccasionalAnswerCountsForAMinuteWhileTheClusterCannotBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := allowing("update pods")
		p := started(t, cluster)
		ask := func() error {
			allowed, err := p.Allows(t.Context(), *websites, updates("shop"))
			if err == nil && !allowed {
				t.Error("it is refused")
			}
			return err
		}
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		down := errors.New("connection refused")
		cluster.change(func(c *host) { c.err = down })
		<-time.After(Patience - tick)
		if err := ask(); err != nil {
			t.Errorf("before its patience ends: %v", err)
		}
		<-time.After(tick)
		if err := ask(); !errors.Is(err, down) {
			t.Errorf("after its patience the error is %v", err)
		}
	})
}
