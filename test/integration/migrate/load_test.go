// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// load is clients that list, watch and apply controllers all the time, as kubectl and client-go do, and one that looks whether
// single requests are answered.
type load struct {
	*world
	stop    context.CancelFunc
	running sync.WaitGroup

	mu sync.Mutex
	// failures are requests that failed although their client tried again.
	failures []string
	// acknowledged is the last value of each object that was written.
	acknowledged map[string]string
	requests     map[string]int
	// gaps are the times in which single requests failed, by what they asked for.
	gaps map[string][]gap

	informers []cache.SharedIndexInformer
}

// gap is a time in which a request failed.
type gap struct {
	from, to time.Time
	answers  map[string]int
}

// beat is the label that is applied again and again.
const beat = "beat"

// newLoad begins to work on the controllers with these names, until it is ended.
func newLoad(w *world, names []string) *load {
	w.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(w.Context()))
	l := &load{world: w, stop: stop, acknowledged: map[string]string{}, requests: map[string]int{}, gaps: map[string][]gap{}}
	w.Cleanup(func() { stop(); l.running.Wait() })
	l.running.Go(func() { l.list(ctx) })
	l.running.Go(func() { l.apply(ctx, names) })
	l.running.Go(func() { l.discover(ctx) })
	for what, path := range map[string]string{
		"a list":         "/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers?limit=1",
		"an object":      "/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers/" + names[0],
		"discovery":      "/apis/metacontroller.k8s.io/v1alpha1",
		"all discovery":  "/apis",
		"OpenAPI v2":     "/openapi/v2",
		"OpenAPI v3":     "/openapi/v3",
		"the namespaces": "/api/v1/namespaces",
	} {
		l.running.Go(func() { l.probe(ctx, what, path) })
	}
	l.watch(ctx)
	return l
}

func pause(ctx context.Context, period time.Duration) {
	select {
	case <-time.After(period):
	case <-ctx.Done():
	}
}

func (l *load) note(ctx context.Context, what string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests[what]++
	if err != nil && ctx.Err() == nil {
		l.failures = append(l.failures, fmt.Sprintf("%s %s: %v", time.Now().Format("15:04:05.000"), what, err))
	}
}

// list lists all kinds.
func (l *load) list(ctx context.Context) {
	for ctx.Err() == nil {
		for _, kind := range kinds {
			_, err := env.Dynamic.Resource(kind).List(ctx, metav1.ListOptions{})
			l.note(ctx, "list", err)
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// apply gives objects a new label, one after the other.
func (l *load) apply(ctx context.Context, names []string) {
	for turn := 0; ctx.Err() == nil; turn++ {
		name, value := names[turn%len(names)], fmt.Sprint(turn)
		applied := &unstructured.Unstructured{Object: harness.Object{
			"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "CompositeController",
			"metadata": harness.Object{"name": name, "labels": harness.Object{beat: value}},
		}}
		// The whole object is not sent: what is required has other owners.
		body, err := applied.MarshalJSON()
		if err == nil {
			// The last one is not cut off, so that it is known whether it was written.
			_, err = env.Dynamic.Resource(compositeControllers).Patch(context.WithoutCancel(ctx), name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: "load"})
		}
		l.note(ctx, "apply", err)
		if err == nil {
			l.mu.Lock()
			l.acknowledged[name] = value
			l.mu.Unlock()
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// discover does as kubectl api-resources does.
func (l *load) discover(ctx context.Context) {
	client, err := discovery.NewDiscoveryClientForConfig(env.Config)
	if err != nil {
		l.note(ctx, "discovery", err)
		return
	}
	for ctx.Err() == nil {
		lists, err := client.ServerPreferredResourcesWithContext(ctx)
		if isAboutTheMigration(err) {
			// A group that has just been registered is not served for a moment.
			l.note(ctx, "api-resources without "+importsGroup, nil)
			continue
		}
		if err == nil {
			found := 0
			for _, list := range lists {
				if list.GroupVersion == "metacontroller.k8s.io/v1alpha1" {
					for _, of := range list.APIResources {
						if slices.Contains([]string{"compositecontrollers", "decoratorcontrollers", "controllerrevisions"}, of.Name) {
							found++
						}
					}
				}
			}
			if found != len(kinds) {
				err = fmt.Errorf("it shows %d of the kinds as v1alpha1", found)
			}
		}
		l.note(ctx, "api-resources", err)
		pause(ctx, 100*time.Millisecond)
	}
}

// importsGroup is there only while a migration is under way.
const importsGroup = "migration.metacontroller.k8s.io"

// isAboutTheMigration reports whether discovery failed for the group of the migration, and for no other.
func isAboutTheMigration(err error) bool {
	failed, ok := errors.AsType[*discovery.ErrGroupDiscoveryFailed](err)
	if !ok {
		return false
	}
	for version := range failed.Groups {
		if version.Group != importsGroup {
			return false
		}
	}
	return true
}

// probe sends single requests, without another try, and notes the times in which they fail.
func (l *load) probe(ctx context.Context, what, path string) {
	transport, err := rest.TransportFor(env.Config)
	if err != nil {
		l.note(ctx, "probe", err)
		return
	}
	client := &http.Client{Transport: transport}
	var open *gap
	for ctx.Err() == nil {
		sent := time.Now()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, env.Config.Host+path, nil)
		if err != nil {
			l.note(ctx, "probe", err)
			return
		}
		request.Header.Set("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json")
		answer := "no answer"
		if response, err := client.Do(request); err == nil {
			answer = fmt.Sprint(response.StatusCode)
			response.Body.Close()
		}
		if ctx.Err() != nil {
			break
		}
		l.note(ctx, what, nil)
		switch {
		case answer == "200" && open != nil:
			open.to = time.Now()
			l.mu.Lock()
			l.gaps[what] = append(l.gaps[what], *open)
			l.mu.Unlock()
			open = nil
		case answer != "200" && open == nil:
			open = &gap{from: sent, answers: map[string]int{answer: 1}}
		case answer != "200":
			open.answers[answer]++
		}
		pause(ctx, probeInterval())
	}
}

// probeInterval is the pause between two probes of one path. A longer one leaves the processors to the other tests of the repository.
func probeInterval() time.Duration {
	if inFull() {
		return 10 * time.Millisecond
	}
	return 50 * time.Millisecond
}

// watch runs informers.
func (l *load) watch(ctx context.Context) {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(env.Dynamic, 0)
	for _, kind := range kinds {
		l.informers = append(l.informers, factory.ForResource(kind).Informer())
	}
	factory.Start(ctx.Done())
	l.running.Go(func() {
		<-ctx.Done()
		factory.Shutdown()
	})
	for _, informer := range l.informers {
		if !cache.WaitForCacheSync(l.Context().Done(), informer.HasSynced) {
			l.Fatal("the informers do not see the objects")
		}
	}
}

// check fails the test if a request failed, if something that was written is lost, or if informers do not see what there is.
func (l *load) check() {
	l.Helper()
	l.mu.Lock()
	failures, requests := slices.Clone(l.failures), maps.Clone(l.requests)
	l.failures = nil
	l.mu.Unlock()
	if len(failures) > 0 {
		l.Errorf("%d requests failed:\n%s", len(failures), strings.Join(failures[:min(len(failures), 10)], "\n"))
	}
	l.Logf("there were %v requests", requests)
	for _, kind := range kinds {
		l.eventually(func(ctx context.Context) error {
			list, err := env.Dynamic.Resource(kind).List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			seen := l.informers[slices.Index(kinds, kind)].GetStore()
			if count := len(seen.ListKeys()); count != len(list.Items) {
				return fmt.Errorf("the informer sees %d %s, and there are %d", count, kind.Resource, len(list.Items))
			}
			for i := range list.Items {
				of := &list.Items[i]
				known, found, _ := seen.Get(of)
				if !found || known.(*unstructured.Unstructured).GetUID() != of.GetUID() {
					return fmt.Errorf("the informer does not see %s %s", of.GetKind(), of.GetName())
				}
			}
			return nil
		})
	}
}

// end ends the load, and fails the test if something that was written is lost.
func (l *load) end() {
	l.Helper()
	l.check()
	l.stop()
	l.running.Wait()
	if len(l.acknowledged) == 0 {
		l.Error("nothing was written")
	}
	for name, value := range l.acknowledged {
		of, err := env.Dynamic.Resource(compositeControllers).Get(l.Context(), name, metav1.GetOptions{})
		if err != nil || of.GetLabels()[beat] != value {
			l.Errorf("%s was written with %s, and has %v (%v)", name, value, of.GetLabels(), err)
		}
	}
	l.reportGaps()
}

// reportGaps logs how long single requests failed.
func (l *load) reportGaps() {
	l.Helper()
	for _, what := range slices.Sorted(maps.Keys(l.gaps)) {
		var longest, all time.Duration
		answers := map[string]int{}
		for _, gap := range l.gaps[what] {
			length := gap.to.Sub(gap.from)
			longest, all = max(longest, length), all+length
			for answer, count := range gap.answers {
				answers[answer] += count
			}
		}
		l.Logf("%s failed in %d times of at most %s, together %s: %v", what, len(l.gaps[what]), longest.Round(time.Millisecond), all.Round(time.Millisecond), answers)
	}
}
