// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

const (
	benchControllers = 30
	benchParents     = 1000 // of each controller
	// benchPatience is how long all children may take.
	benchPatience = 10 * time.Minute
)

// BenchmarkReplicas measures one replica and three with 30 controllers and 30,000 parents, each with a child: how even
// the parents are spread, the memory of a replica, how long all children take when the hook wants all otherwise, and
// how long the controllers of a replica are without one when it ends, is killed, and is stopped. The objects of a
// measurement stay in the cluster, so run it for one number of replicas at a time: -bench='^BenchmarkReplicas$/^replicas=3$'.
func BenchmarkReplicas(b *testing.B) {
	for _, replicas := range []int{1, 3} {
		b.Run(fmt.Sprintf("replicas=%d", replicas), func(b *testing.B) {
			for b.Loop() {
				benchFleet(b, replicas)
			}
			b.ReportMetric(0, "ns/op") // how long it takes is not what is measured
		})
	}
}

func benchFleet(b *testing.B, replicas int) {
	b.Helper()
	f := newFleet(b, replicas)
	w := newWork(f)
	w.createControllers()
	w.createParents()
	w.wait("1")
	f.waitForEven(f.replicas...)
	f.checkHandOvers() // while parents are created, a controller may come back to a replica

	began := time.Now()
	w.change("2")
	w.wait("2")
	b.ReportMetric(time.Since(began).Seconds(), "update-all-s")
	w.spread()
	most := 0.0
	for _, replica := range f.replicas {
		usage, err := process.UsageOf(replica.PID())
		if err != nil {
			b.Fatal(err)
		}
		most = max(most, float64(usage.Resident)/(1<<20))
	}
	b.ReportMetric(most, "rss-MiB")
	if replicas < 3 {
		return
	}
	one, two, three := f.replicas[0], f.replicas[1], f.replicas[2]
	f.signal(three, syscall.SIGSTOP)
	stopped := time.Now()
	b.ReportMetric(f.waitUntilRunning(one, two).Seconds(), "after-stopped-s")
	<-time.After(time.Until(stopped.Add(frozen)))
	f.signal(three, syscall.SIGCONT)
	f.waitForEven(f.replicas...)
	f.kill(three)
	b.ReportMetric(f.waitUntilRunning(one, two).Seconds(), "after-killed-s")
	f.terminate(two)
	b.ReportMetric(f.waitUntilRunning(one).Seconds(), "after-ended-s")
	f.checkWriters()
}

// work is controllers with many parents.
type work struct {
	*fleet
	client     dynamic.Interface
	parents    schema.GroupVersionResource
	namespaces []string
	hook       *httptest.Server
	wanted     atomic.Value // the value of all children, a string
	children   cache.Store
}

func newWork(f *fleet) *work {
	f.Helper()
	config := rest.CopyConfig(env.Config)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		f.Fatal(err)
	}
	w := &work{fleet: f, client: client, parents: env.Install(f, harness.CRD{Kind: "Thing"})}
	w.wanted.Store("1")
	w.hook = httptest.NewServer(http.HandlerFunc(w.answer))
	f.Cleanup(w.hook.Close)
	for range benchControllers {
		w.namespaces = append(w.namespaces, env.Namespace(f))
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	informer := factory.ForResource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Informer()
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.Context()))
	factory.Start(ctx.Done())
	f.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
	w.children = informer.GetStore()
	return w
}

func (w *work) answer(writer http.ResponseWriter, request *http.Request) {
	var asked hook.CompositeRequest
	if err := json.NewDecoder(request.Body).Decode(&asked); err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	child := hook.ConfigMap(asked.Parent.GetName(), harness.Object{"value": w.wanted.Load().(string)})
	writer.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(writer).Encode(harness.Object{"children": []any{child}})
}

func (w *work) createControllers() {
	w.Helper()
	for i, namespace := range w.namespaces {
		spec := v1alpha1.CompositeControllerSpec{
			GenerateSelector: ptr.To(true),
			ParentResource: v1alpha1.CompositeControllerParentResourceRule{
				ResourceRule: v1alpha1.ResourceRule{APIVersion: w.parents.GroupVersion().String(), Resource: w.parents.Resource},
			},
			ChildResources: []v1alpha1.CompositeControllerChildResourceRule{harness.ChildRule("v1", "configmaps", v1alpha1.ChildUpdateInPlace)},
			Hooks:          &v1alpha1.CompositeControllerHooks{Sync: &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To(w.hook.URL + "/1")}}},
		}
		spec.Namespaces = []string{namespace}
		_, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Create(w.Context(), &v1alpha1.CompositeController{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("bench-", i)}, Spec: spec,
		}, metav1.CreateOptions{})
		if err != nil {
			w.Fatal(err)
		}
		w.fixtures = append(w.fixtures, &harness.Fixture{Namespace: namespace})
	}
}

func (w *work) createParents() {
	w.Helper()
	var failed atomic.Value
	var creating sync.WaitGroup
	for _, namespace := range w.namespaces {
		creating.Go(func() {
			for i := range benchParents {
				thing := &unstructured.Unstructured{Object: harness.Object{
					"apiVersion": w.parents.GroupVersion().String(), "kind": "Thing", "metadata": harness.Object{"name": parentName(i)}, "spec": harness.Object{},
				}}
				if _, err := w.client.Resource(w.parents).Namespace(namespace).Create(w.Context(), thing, metav1.CreateOptions{}); err != nil {
					failed.Store(err)
					return
				}
			}
		})
	}
	creating.Wait()
	if err := failed.Load(); err != nil {
		w.Fatal(err)
	}
}

// change has the hook want all children otherwise, and each controller ask it again.
func (w *work) change(value string) {
	w.Helper()
	w.wanted.Store(value)
	patch := fmt.Appendf(nil, `{"spec":{"hooks":{"sync":{"webhook":{"url":%q}}}}}`, w.hook.URL+"/"+value)
	for i := range w.namespaces {
		_, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Patch(w.Context(), fmt.Sprint("bench-", i), types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			w.Fatal(err)
		}
	}
}

// wait waits until all children have a value.
func (w *work) wait(value string) {
	w.Helper()
	err := poll.Within(w.Context(), benchPatience, func(context.Context) error {
		have := 0
		for _, child := range w.children.List() {
			if got, _, _ := unstructured.NestedString(child.(*unstructured.Unstructured).Object, "data", "value"); got == value {
				have++
			}
		}
		if want := benchControllers * benchParents; have != want {
			return fmt.Errorf("%d of %d children have the value %s", have, want, value)
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
}

// spread reports how many parents the replica with the fewest and the one with the most has.
func (w *work) spread() {
	w.Helper()
	count, err := w.runners(w.Context())
	if err == nil && len(count) != len(w.replicas) {
		err = errors.New("a replica runs no controller")
	}
	if err != nil {
		w.Fatal(err)
	}
	least, most := benchControllers, 0
	for _, controllers := range count {
		least, most = min(least, controllers), max(most, controllers)
	}
	w.TB.(*testing.B).ReportMetric(float64(least*benchParents), "parents-min")
	w.TB.(*testing.B).ReportMetric(float64(most*benchParents), "parents-max")
}
