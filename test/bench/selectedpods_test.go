// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

const (
	allPods      = 10_000
	selectedPods = 50
	// pageSize is how many objects the server lists at once.
	pageSize = 500
)

// BenchmarkSelectedPods measures the memory of a server whose one DecoratorController is for
// none, some and all of the Pods of a cluster: what the process occupies when each has been
// synced, what it has occupied at most until then, what it occupies after a rest, and what its
// heap holds after a garbage collection.
func BenchmarkSelectedPods(b *testing.B) {
	env, err := harness.Start(b.Context(), os.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := env.Stop(); err != nil {
			b.Error(err)
		}
	})
	createPods(b, env)
	for _, selector := range []struct {
		selects int
		labels  map[string]string
	}{
		{0, nil},
		{selectedPods, map[string]string{"bench": "selected"}},
		{allPods, map[string]string{"all": "pods"}},
	} {
		b.Run(fmt.Sprintf("selected=%d", selector.selects), func(b *testing.B) {
			for b.Loop() {
				measure(b, env, selector.selects, selector.labels)
			}
		})
	}
}

// createPods creates the Pods, of more than a kilobyte each, which nobody schedules.
func createPods(b *testing.B, env *harness.Env) {
	b.Helper()
	config := rest.CopyConfig(env.Config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	namespace := env.Namespace(b)
	pods := client.CoreV1().Pods(namespace)
	env.Eventually(b, func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	var creating sync.WaitGroup
	const creators = 20
	for creator := range creators {
		creating.Go(func() {
			for i := creator; i < allPods; i += creators {
				if _, err := pods.Create(b.Context(), pod(i), metav1.CreateOptions{}); err != nil {
					b.Errorf("create Pod %d: %v", i, err)
					return
				}
			}
		})
	}
	creating.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

func pod(number int) *corev1.Pod {
	labels := map[string]string{"all": "pods", "bench": "other"}
	if number < selectedPods {
		labels["bench"] = "selected"
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("pod-%d", number), Labels: labels,
			Annotations: map[string]string{"text": strings.Repeat("x", 1000)},
		},
		Spec: corev1.PodSpec{
			Containers:                   []corev1.Container{{Name: "main", Image: "example.com/main"}},
			AutomountServiceAccountToken: ptr.To(false),
		},
	}
}

// measure measures a server that has just been started.
func measure(b *testing.B, env *harness.Env, selects int, labels map[string]string) {
	b.Helper()
	if err := env.Server.Stop(); err != nil {
		b.Fatal(err)
	}
	if err := env.Server.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	if selects > 0 {
		decorate(b, env, selects, labels)
	}
	usage, err := env.Usage()
	if err != nil {
		b.Fatal(err)
	}
	heap, err := env.LiveHeap(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	rested, err := (&world{env: env}).resident(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(rested, "rss-rested-MiB")
	for unit, bytes := range map[string]int64{"rss-MiB": usage.Resident, "rss-max-MiB": usage.ResidentMost, "heap-MiB": heap.All} {
		b.ReportMetric(float64(bytes)/(1<<20), unit)
	}
	b.ReportMetric(0, "ns/op") // how long it takes is not what is measured
}

// decorate runs a controller for the Pods with these labels until it has synced each, and
// has looked through all others, which a controller does when it is new. Its hook wants
// nothing.
func decorate(b *testing.B, env *harness.Env, selects int, labels map[string]string) {
	b.Helper()
	from, err := env.Host.Audit().Position()
	if err != nil {
		b.Fatal(err)
	}
	synced := newSynced()
	server := httptest.NewServer(synced)
	defer server.Close()
	controllers := env.Metacontroller.MetacontrollerV1alpha1().DecoratorControllers()
	name := harness.Name("bench")
	_, err = controllers.Create(b.Context(), &v1alpha1.DecoratorController{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.DecoratorControllerSpec{
			Resources: []v1alpha1.DecoratorControllerResourceRule{{
				ResourceRule:  v1alpha1.ResourceRule{APIVersion: "v1", Resource: "pods"},
				LabelSelector: &v1alpha1.LabelSelector{MatchLabels: labels},
			}},
			Hooks: &v1alpha1.DecoratorControllerHooks{Sync: &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To(server.URL)}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		b.Fatalf("create the DecoratorController: %v", err)
	}
	b.Cleanup(func() {
		ctx := context.WithoutCancel(b.Context())
		if err := controllers.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			b.Errorf("delete the DecoratorController: %v", err)
		}
	})
	env.Within(b, patience, func(context.Context) error {
		if count := synced.count(); count != selects {
			return fmt.Errorf("%d Pods were synced, want %d", count, selects)
		}
		pages, err := env.Host.Audit().Find(from, hostcluster.Request{User: harness.ServerUser, Verbs: []string{"list"}, Resource: "pods"})
		if err == nil && len(pages) < allPods/pageSize {
			err = fmt.Errorf("%d pages were looked through", len(pages))
		}
		return err
	})
}

// synced is a hook that remembers whom it was called about.
type synced struct {
	mu   sync.Mutex
	pods map[types.UID]bool
}

func newSynced() *synced { return &synced{pods: map[types.UID]bool{}} }

func (s *synced) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pods)
}

func (s *synced) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Object metav1.PartialObjectMetadata `json:"object"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.pods[asked.Object.UID] = true
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte("{}"))
}
