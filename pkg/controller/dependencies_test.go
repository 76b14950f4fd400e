// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientcache "k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/calllog"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

func TestCallsOfHooksGoWithTheirNamespace(t *testing.T) {
	namespace := func(name string, uid types.UID) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}}
	}
	for name, change := range map[string]func(*cachetesting.FakeControllerSource){
		"that is deleted": func(host *cachetesting.FakeControllerSource) { host.Delete(namespace("shop", "1")) },
		"that was replaced while the watch was broken": func(host *cachetesting.FakeControllerSource) {
			host.Modify(namespace("shop", "2"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			host := cachetesting.NewFakeControllerSource()
			host.Add(namespace("shop", "1"))
			host.Add(namespace("stays", "3"))
			namespaces := clientcache.NewSharedInformer(host, &corev1.Namespace{}, 0)
			go namespaces.RunWithContext(t.Context())
			calls := calllog.New(time.Now())
			stop, err := forgetNamespaces(namespaces, calls)
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			clientcache.WaitForCacheSync(t.Context().Done(), namespaces.HasSynced)
			recorder := calls.Of(v1alpha1.ControllerReference{Name: "webs"}).Recorder(calllog.Owner{})
			for _, of := range []string{"shop", "stays"} {
				parent := &object.Object{ObjectMeta: metav1.ObjectMeta{Namespace: of, Name: "web"}}
				recorder.Add(&calllog.Call{Began: time.Now(), Snapshot: &pipeline.Snapshot{Parent: parent}})
			}
			host.Modify(namespace("stays", "3"))
			change(host)
			err = poll.Until(t.Context(), func(ctx context.Context) error {
				var left []string
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				_ = calls.Follow(ctx, func(rows []*v1alpha1.HookCall, _ []types.NamespacedName) error {
					for _, row := range rows {
						left = append(left, row.Namespace)
					}
					return context.Canceled
				})
				if !slices.Equal(left, []string{"stays"}) {
					return fmt.Errorf("the calls that are kept are of %q", left)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
