// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package previews

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

const (
	benchParents = 1000
	// benchChildren is how many children each of them has.
	benchChildren = 3
	// benchPhases is how often edits are measured, each time without and with reviews beside them.
	// benchEdits is how many edits each of these has, and benchBreath how long nothing is done before
	// one.
	benchPhases, benchEdits, benchBreath = 7, 300, 20 * time.Millisecond
	// benchMemory is how much more memory the server may take in MiB because of reviews.
	benchMemory = 64
)

// BenchmarkManyParents reviews 1,000 parents of three children with a candidate, page by page and again
// and again, beside a controller whose parents are edited. It reports how long an edit takes until the
// last child has followed, without reviews and with them, how long the review of all parents takes, and
// how much memory the server has at most.
func BenchmarkManyParents(b *testing.B) {
	for b.Loop() {
		w := newWork(b)
		w.createParents()
		before := w.memory()
		var quiet, beside []float64
		for range benchPhases {
			quiet = append(quiet, w.edit(benchEdits)...)
			beside = append(beside, w.whileReviewing(func() []float64 { return w.edit(benchEdits) })...)
		}
		for name, q := range map[string]float64{"p50": 0.5, "p99": 0.99} {
			b.ReportMetric(quantile(quiet, q), name+"-ms")
			b.ReportMetric(quantile(beside, q), name+"-beside-reviews-ms")
			b.ReportMetric(quantile(beside, q)/quantile(quiet, q), name+"-ratio")
		}
		b.ReportMetric(quantile(w.reviews, 0.5), "review-of-all-s")
		b.ReportMetric(float64(len(w.reviews)), "reviews-of-all")
		b.ReportMetric(before, "rss-before-MiB")
		b.ReportMetric(w.most, "rss-most-MiB")
		if w.most > before+benchMemory {
			b.Errorf("the server has taken %.0f MiB more than without reviews, and may take %d", w.most-before, benchMemory)
		}
		env.Kubectl(b, "delete", "compositecontroller", "bench")
	}
	b.ReportMetric(0, "ns/op") // how long it takes is not what is measured
}

// quantile is the smallest value that this share of the values is not above.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1))]
}

// work is a controller with many parents.
type work struct {
	*testing.B
	namespace string
	parents   dynamic.ResourceInterface
	kind      schema.GroupVersionResource
	children  watch.Interface
	hook      *httptest.Server
	spec      v1alpha1.CompositeControllerSpec
	edits     int

	// reviews are how long reviews of all parents took in seconds, and most is the most memory after a
	// page of one.
	reviews []float64
	most    float64
}

func newWork(b *testing.B) *work {
	b.Helper()
	config := rest.CopyConfig(env.Config)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	w := &work{B: b, namespace: env.Namespace(b), kind: env.Install(b, harness.CRD{Kind: "Thing"})}
	w.parents = client.Resource(w.kind).Namespace(w.namespace)
	w.hook = httptest.NewServer(http.HandlerFunc(answer))
	b.Cleanup(w.hook.Close)
	w.spec = v1alpha1.CompositeControllerSpec{
		GenerateSelector: ptr.To(true),
		ParentResource: v1alpha1.CompositeControllerParentResourceRule{
			ResourceRule: v1alpha1.ResourceRule{APIVersion: w.kind.GroupVersion().String(), Resource: w.kind.Resource},
		},
		ChildResources: []v1alpha1.CompositeControllerChildResourceRule{harness.ChildRule("v1", "configmaps", v1alpha1.ChildUpdateInPlace)},
		Hooks:          &v1alpha1.CompositeControllerHooks{Sync: &v1alpha1.Hook{Version: ptr.To(v1alpha1.HookVersionV2), Webhook: &v1alpha1.Webhook{URL: ptr.To(w.hook.URL + "/now")}}},
	}
	controllers := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers()
	if _, err := controllers.Create(b.Context(), &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "bench"}, Spec: w.spec}, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	if w.children, err = env.Kube.CoreV1().ConfigMaps(w.namespace).Watch(b.Context(), metav1.ListOptions{}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.children.Stop)
	return w
}

// answer is the hook. Its next version marks the children.
func answer(writer http.ResponseWriter, request *http.Request) {
	var asked hook.CompositeRequest
	if err := json.NewDecoder(request.Body).Decode(&asked); err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	value, _, _ := unstructured.NestedString(asked.Parent.Object, "spec", "value")
	var children []any
	for i := range benchChildren {
		data := harness.Object{"value": value}
		if request.URL.Path == next {
			data["next"] = "yes"
		}
		children = append(children, hook.ConfigMap(childName(asked.Parent.GetName(), i), data))
	}
	writer.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(writer).Encode(harness.Object{"status": harness.Object{"value": value}, "children": children})
}

func parentName(i int) string { return fmt.Sprintf("parent-%d", i) }

func childName(parent string, i int) string { return fmt.Sprintf("%s-%d", parent, i) }

func (w *work) createParents() {
	w.Helper()
	for i := range benchParents {
		thing := &unstructured.Unstructured{Object: harness.Object{
			"apiVersion": w.kind.GroupVersion().String(), "kind": "Thing", "metadata": harness.Object{"name": parentName(i)}, "spec": harness.Object{"value": "begin"},
		}}
		if _, err := w.parents.Create(w.Context(), thing, metav1.CreateOptions{}); err != nil {
			w.Fatal(err)
		}
	}
	last := benchChildren - 1
	for have := map[string]bool{}; len(have) < benchParents; {
		child := w.nextChild()
		for i := range benchParents {
			if child.name == childName(parentName(i), last) {
				have[child.name] = true
			}
		}
	}
	err := poll.Within(w.Context(), 5*time.Minute, func(ctx context.Context) error {
		summary, err := w.page(ctx, w.spec, "")
		if err == nil && summary.Summary.Unchanged != summary.Summary.Parents {
			err = fmt.Errorf("%+v", summary.Summary)
		}
		return err
	})
	if err != nil {
		w.Fatalf("the syncs have not ended: %v", err)
	}
}

type change struct{ name, value string }

// nextChild returns the next change of a child.
func (w *work) nextChild() change {
	w.Helper()
	select {
	case event := <-w.children.ResultChan():
		var child struct {
			metav1.ObjectMeta `json:"metadata"`
			Data              map[string]string
		}
		raw, err := json.Marshal(event.Object)
		if err == nil {
			err = json.Unmarshal(raw, &child)
		}
		if err != nil {
			w.Fatal(err)
		}
		return change{child.Name, child.Data["value"]}
	case <-time.After(time.Minute):
		w.Fatal("no child has changed for a minute")
		return change{}
	}
}

// edit edits parents, and returns how many milliseconds each edit took until the last child had followed.
func (w *work) edit(times int) (took []float64) {
	w.Helper()
	for range times {
		<-time.After(benchBreath)
		w.edits++
		parent, value := parentName(w.edits*7%benchParents), fmt.Sprint(w.edits)
		began := time.Now()
		if _, err := w.parents.Patch(w.Context(), parent, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"value":%q}}`, value), metav1.PatchOptions{}); err != nil {
			w.Fatal(err)
		}
		for followed := 0; followed < benchChildren; {
			if w.nextChild().value == value {
				followed++
			}
		}
		took = append(took, time.Since(began).Seconds()*1000)
	}
	return took
}

// whileReviewing measures while all parents are reviewed again and again.
func (w *work) whileReviewing(measure func() []float64) (took []float64) {
	w.Helper()
	var ended atomic.Bool
	var reviewing sync.WaitGroup
	reviewing.Go(func() {
		for !ended.Load() {
			began := time.Now()
			if err := w.reviewAll(w.Context()); err != nil {
				w.Error(err)
				return
			}
			w.reviews = append(w.reviews, time.Since(began).Seconds())
		}
	})
	took = measure()
	ended.Store(true)
	reviewing.Wait()
	return took
}

// reviewAll reviews all parents with a candidate, page by page.
func (w *work) reviewAll(ctx context.Context) error {
	candidate := w.spec.DeepCopy()
	candidate.Hooks.Sync.Webhook.URL = ptr.To(w.hook.URL + next)
	var all v1alpha1.SyncReviewSummary
	updates := int32(0)
	for token := ""; ; {
		status, err := w.page(ctx, *candidate, token)
		if err != nil {
			return err
		}
		w.most = max(w.most, w.memory())
		all.Parents, all.Changed, all.Failed = all.Parents+status.Summary.Parents, all.Changed+status.Summary.Changed, all.Failed+status.Summary.Failed
		for _, count := range status.Summary.Steps {
			if count.Kind == "ConfigMap" && count.Operation == v1alpha1.ReviewedUpdate {
				updates += count.Count
			}
		}
		if token = status.Continue; token == "" {
			break
		}
	}
	if all.Parents != benchParents || all.Changed != benchParents || all.Failed != 0 || updates != benchChildren*benchParents {
		return fmt.Errorf("the summary is %+v with %d updates of children", all, updates)
	}
	return nil
}

// page returns one page of a review of all parents.
func (w *work) page(ctx context.Context, candidate v1alpha1.CompositeControllerSpec, token string) (*v1alpha1.SyncReviewStatus, error) {
	raw, err := json.Marshal(candidate)
	if err != nil {
		return nil, err
	}
	review := &v1alpha1.SyncReview{Spec: v1alpha1.SyncReviewSpec{
		Controller: v1alpha1.SyncReviewController{Kind: "CompositeController", Name: "bench"}, Candidate: &runtime.RawExtension{Raw: raw},
		Parents: &v1alpha1.SyncReviewParents{Limit: ptr.To[int32](100), Continue: token}, Details: v1alpha1.SyncReviewDetailsSteps,
	}}
	answered, err := env.Metacontroller.MetacontrollerV1alpha1().SyncReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return &answered.Status, nil
}

// memory returns the memory of the server in MiB.
func (w *work) memory() float64 {
	usage, err := env.Usage()
	if err != nil {
		w.Error(err)
	}
	return float64(usage.Resident) / (1 << 20)
}
