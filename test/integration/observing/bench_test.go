// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observing

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

const (
	benchParents = 10_000
	// benchPatience is how long all parents may take.
	benchPatience = 5 * time.Minute
	benchRounds   = 20
)

// tableHeader is what kubectl accepts.
const tableHeader = "application/json;as=Table;v=v1;g=meta.k8s.io"

// BenchmarkRows measures what it takes to look at 10,000 rows through the host's aggregator: as one table, received and decoded, as kubectl
// asks for it in parts of 500, and as an informer reads it, with medians of 20 rounds; how long after an edit a watch shows the row; and the memory
// of the server before anybody looks, and while somebody does.
func BenchmarkRows(b *testing.B) {
	for b.Loop() {
		benchRows(b)
	}
	b.ReportMetric(0, "ns/op") // how long it takes is not what is measured
}

func benchRows(b *testing.B) {
	b.Helper()
	env.StopServer(b)
	env.Server.Environment = nil // without the costs of heap profiles, which tests read
	env.StartServer(b)
	config := rest.CopyConfig(env.Config)
	config.QPS = -1
	client, err := versioned.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	namespace := env.Namespace(b)
	createTargets(b, config, namespace)
	server := hook.Serve(b, func(context.Context, hook.Call) hook.Answer { return hook.JSON(harness.Object{"attachments": []any{}}) })
	harness.CreateController(b, client.MetacontrollerV1alpha1().DecoratorControllers(), &v1alpha1.DecoratorController{
		ObjectMeta: metav1.ObjectMeta{Name: "bench"},
		Spec: v1alpha1.DecoratorControllerSpec{
			Resources: []v1alpha1.DecoratorControllerResourceRule{{
				ResourceRule:  v1alpha1.ResourceRule{APIVersion: "v1", Resource: "configmaps"},
				LabelSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]string{"bench": "yes"}},
			}},
			Hooks: &v1alpha1.DecoratorControllerHooks{Sync: &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To(server.URL("/sync"))}}},
		},
	})
	waitForParents(b, client)
	b.ReportMetric(resident(b), "rss-unseen-MiB")

	began := time.Now()
	listTable(b, client, namespace, 0)
	b.ReportMetric(milliseconds(time.Since(began)), "first-look-ms")
	b.ReportMetric(resident(b), "rss-seen-MiB")
	b.ReportMetric(median(func() { receiveTable(b, client, namespace) }), "table-ms")
	b.ReportMetric(median(func() { listTable(b, client, namespace, 0) }), "table-decoded-ms")
	b.ReportMetric(median(func() { listTable(b, client, namespace, 500) }), "table-in-parts-ms")
	b.ReportMetric(median(func() { list(b, client, namespace) }), "list-ms")
	b.ReportMetric(median(func() { editAndSee(b, client, namespace) }), "edit-to-event-ms")
}

func milliseconds(of time.Duration) float64 { return float64(of.Microseconds()) / 1000 }

// median returns the median of rounds of do, in milliseconds.
func median(do func()) float64 {
	var took []time.Duration
	for range benchRounds {
		began := time.Now()
		do()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return milliseconds(took[len(took)/2])
}

func createTargets(b *testing.B, config *rest.Config, namespace string) {
	b.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	var creating sync.WaitGroup
	for part := range 20 {
		creating.Go(func() {
			for i := part; i < benchParents; i += 20 {
				_, err := client.CoreV1().ConfigMaps(namespace).Create(b.Context(), &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%05d", i), Labels: map[string]string{"bench": "yes"}},
				}, metav1.CreateOptions{})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	creating.Wait()
}

// waitForParents waits until all parents are synced. It does not look at the rows.
func waitForParents(b *testing.B, client versioned.Interface) {
	b.Helper()
	err := poll.Within(b.Context(), benchPatience, func(ctx context.Context) error {
		found, err := client.MetacontrollerV1alpha1().DecoratorControllers().Get(ctx, "bench", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if counts := found.Status.Parents; counts == nil || counts.Synced != benchParents {
			return fmt.Errorf("the counts are %+v", counts)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

func resident(b *testing.B) float64 {
	b.Helper()
	usage, err := process.UsageOf(env.Server.PID())
	if err != nil {
		b.Fatal(err)
	}
	return float64(usage.Resident) / (1 << 20)
}

// receiveTable receives all rows as one table, and does not read them.
func receiveTable(b *testing.B, client versioned.Interface, namespace string) {
	b.Helper()
	raw, err := client.MetacontrollerV1alpha1().RESTClient().Get().Namespace(namespace).Resource("syncs").SetHeader("Accept", tableHeader).Do(b.Context()).Raw()
	if err != nil || len(raw) < 100*benchParents {
		b.Fatalf("%d bytes, %v", len(raw), err)
	}
}

// listTable lists rows as kubectl does, in parts if the limit is not zero.
func listTable(b *testing.B, client versioned.Interface, namespace string, limit int) {
	b.Helper()
	rows, next := 0, ""
	for {
		table := &metav1.Table{}
		request := client.MetacontrollerV1alpha1().RESTClient().Get().Namespace(namespace).Resource("syncs").SetHeader("Accept", tableHeader)
		for name, value := range map[string]string{"limit": fmt.Sprint(limit), "continue": next} {
			if value != "" && value != "0" {
				request = request.Param(name, value)
			}
		}
		if err := request.Do(b.Context()).Into(table); err != nil {
			b.Fatal(err)
		}
		rows += len(table.Rows)
		if next = table.Continue; next == "" {
			break
		}
	}
	if rows != benchParents {
		b.Fatalf("there are %d rows", rows)
	}
}

func list(b *testing.B, client versioned.Interface, namespace string) {
	b.Helper()
	found, err := client.MetacontrollerV1alpha1().Syncs(namespace).List(b.Context(), metav1.ListOptions{})
	if err != nil || len(found.Items) != benchParents {
		b.Fatalf("there are %d rows, %v", len(found.Items), err)
	}
}

// editAndSee changes a parent and waits for the event of its row.
func editAndSee(b *testing.B, client versioned.Interface, namespace string) {
	b.Helper()
	syncs := client.MetacontrollerV1alpha1().Syncs(namespace)
	events, err := syncs.Watch(b.Context(), metav1.ListOptions{FieldSelector: "parent=p00000", SendInitialEvents: ptr.To(false), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	if err != nil {
		b.Fatal(err)
	}
	defer events.Stop()
	env.Kubectl(b, "annotate", "configmap", "p00000", "-n", namespace, "--overwrite", "edited="+time.Now().Format("150405.000000000"))
	for event := range events.ResultChan() {
		if event.Type == watch.Modified {
			return
		}
	}
	b.Fatal("the watch has ended")
}
