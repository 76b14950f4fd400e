// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
)

func TestAWatchFromTheFutureIsGone(t *testing.T) {
	for name, start := range map[string]func(context.Context, metav1.ListOptions) (watch.Interface, error){
		"compositecontrollers": env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Watch,
		"decoratorcontrollers": env.Metacontroller.MetacontrollerV1alpha1().DecoratorControllers().Watch,
		"controllerrevisions":  env.Metacontroller.MetacontrollerV1alpha1().ControllerRevisions("").Watch,
	} {
		t.Run(name, func(t *testing.T) {
			watcher, err := start(t.Context(), metav1.ListOptions{ResourceVersion: "999999999"})
			if err == nil {
				defer watcher.Stop()
				event, open := <-watcher.ResultChan()
				if !open || event.Type != watch.Error {
					t.Fatalf("the first event is %+v, want an error", event)
				}
				err = apierrors.FromObject(event.Object)
			}
			if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
				t.Errorf("got %v, want 410 Gone", err)
			}
		})
	}
}

// A new storage counts resource versions from one again. Informers still hold a higher version.
func TestAnInformerRecoversWhenTheStorageIsLost(t *testing.T) {
	before := created(t)
	for i := range 40 { // so that the new storage does not soon catch up with the old number
		env.Kubectl(t, "label", "cc", before, "--overwrite", "count="+strconv.Itoa(i))
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

func TestARestartKeepsEverything(t *testing.T) {
	name := created(t)
	before := get(t, name)
	if err := env.Server.Stop(); err != nil {
		t.Fatalf("the server does not end well: %v", err)
	}
	env.StartServer(t)
	if after := get(t, name); after.UID != before.UID || after.Generation != before.Generation {
		t.Errorf("after the restart the object is %s generation %d, before it was %s generation %d",
			after.UID, after.Generation, before.UID, before.Generation)
	}
}
