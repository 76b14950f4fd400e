// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"os"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
)

// A new storage counts resource versions from one again. Informers still hold a higher version.
func TestAnInformerRecoversWhenTheStorageIsLost(t *testing.T) {
	before := created(t)
	for i := range 40 { // so that the new storage does not soon catch up with the old number
		label := fmt.Appendf(nil, `{"metadata":{"labels":{"count":"%d"}}}`, i)
		_, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Patch(t.Context(), before, types.MergePatchType, label, metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	factory := externalversions.NewSharedInformerFactory(env.Metacontroller, 0)
	informer := factory.Metacontroller().V1alpha1().CompositeControllers()
	informer.Informer() // has the factory make it
	ctx, stop := context.WithCancel(t.Context())
	defer factory.Shutdown()
	defer stop()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if _, err := informer.Lister().Get(before); err != nil {
		t.Fatal(err)
	}

	env.KillServer(t)
	// The Lease belongs to the storage that is lost.
	env.Kubectl(t, "delete", "lease", "--namespace=metacontroller", "metacontroller-apiserver")
	if err := os.RemoveAll(env.Server.DataDir); err != nil {
		t.Fatal(err)
	}
	env.StartServer(t)
	after := created(t)
	env.Eventually(t, func(context.Context) error {
		if _, err := informer.Lister().Get(after); err != nil {
			return fmt.Errorf("the informer does not see what is there: %w", err)
		}
		if _, err := informer.Lister().Get(before); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the informer still sees what is lost (error %v)", err)
		}
		return nil
	})
}
