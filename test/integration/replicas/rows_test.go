// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// clientOf is a client of one replica.
func (f *fleet) clientOf(replica *replica) versioned.Interface {
	f.Helper()
	client, err := versioned.NewForConfig(f.configOf(replica))
	if err != nil {
		f.Fatal(err)
	}
	return client
}

// syncsOf returns the rows that a client sees, by namespace and name, each with the replica that it is of.
func syncsOf(ctx context.Context, client versioned.Interface) (map[string]string, error) {
	list, err := client.MetacontrollerV1alpha1().Syncs("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	rows := map[string]string{}
	for _, row := range list.Items {
		rows[row.Namespace+"/"+row.Name] = row.Status.Replica
	}
	return rows, nil
}

// expectRows returns an error unless there is a row for each of so many parents of each controller, of the replica that runs it.
func (f *fleet) expectRows(ctx context.Context, rows map[string]string, parents int) error {
	if want := len(f.fixtures) * parents; len(rows) != want {
		return fmt.Errorf("there are %d rows, want %d", len(rows), want)
	}
	list, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	runners := map[string]string{}
	for _, item := range list.Items {
		if item.Status.Runner != nil {
			runners[item.Name] = item.Status.Runner.Replica
		}
	}
	for _, fixture := range f.fixtures {
		for i := range parents {
			key := fmt.Sprintf("%s/cc:%s:%s", fixture.Namespace, fixture.Controller.Name, parentName(i))
			if replica, found := rows[key]; !found || replica != runners[fixture.Controller.Name] {
				return fmt.Errorf("the row %s is of replica %q (there: %v), and the controller runs in %q", key, replica, found, runners[fixture.Controller.Name])
			}
		}
	}
	return nil
}

func TestEveryReplicaShowsTheRowsAndCallsOfAll(t *testing.T) {
	const parents = 3
	f := newFleet(t, 3)
	f.run(t, 6, parents)
	f.waitForEven(f.replicas...)
	for _, replica := range f.replicas {
		client := f.clientOf(replica)
		f.eventually(func(ctx context.Context) error {
			rows, err := syncsOf(ctx, client)
			if err != nil {
				return err
			}
			return f.expectRows(ctx, rows, parents)
		})
		f.expectCalls(client)
	}
	f.expectResync(parents)
	f.expectStrangersRefused()
}

// expectCalls checks that a replica shows calls of all replicas, and each with its bodies.
func (f *fleet) expectCalls(client versioned.Interface) {
	f.Helper()
	f.edit(harness.Name("value"))
	f.eventually(func(ctx context.Context) error {
		list, err := client.MetacontrollerV1alpha1().HookCalls("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		of := map[string]v1alpha1.HookCall{}
		for _, call := range list.Items {
			of[call.Status.Replica] = call
		}
		if len(of) != len(f.replicas) {
			return fmt.Errorf("there are calls of %d replicas", len(of))
		}
		for _, call := range of {
			whole, err := client.MetacontrollerV1alpha1().HookCalls(call.Namespace).Get(ctx, call.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if whole.Status.Request.Object == nil || !strings.Contains(string(whole.Status.Request.Object.Raw), string(call.Spec.Parent.UID)) {
				return fmt.Errorf("call %s is %+v", call.Name, whole.Status)
			}
		}
		return nil
	})
}

// expectResync checks that each replica has the parents of all controllers synced, whoever runs them.
func (f *fleet) expectResync(parents int) {
	f.Helper()
	for _, replica := range f.replicas {
		client := f.clientOf(replica).MetacontrollerV1alpha1().RESTClient()
		for _, fixture := range f.fixtures {
			before := len(f.hook.Calls())
			request := v1alpha1.ResyncRequest{Spec: v1alpha1.ResyncRequestSpec{Parents: &v1alpha1.ResyncParents{}}}
			request.APIVersion, request.Kind = v1alpha1.SchemeGroupVersion.String(), "ResyncRequest"
			body, err := json.Marshal(request)
			if err != nil {
				f.Fatal(err)
			}
			var answer v1alpha1.ResyncRequest
			raw, err := client.Post().Resource("compositecontrollers").Name(fixture.Controller.Name).SubResource("resync").
				SetHeader("Content-Type", "application/json").Body(body).Do(f.Context()).Raw()
			if err == nil {
				err = json.Unmarshal(raw, &answer)
			}
			if err != nil || int(answer.Status.Parents) != parents || len(answer.Status.Notes) > 0 {
				f.Fatalf("%s answers %+v, %v", replica.name, answer.Status, err)
			}
			f.eventually(func(context.Context) error {
				if calls := len(f.hook.Calls()) - before; calls < parents {
					return fmt.Errorf("the hook was called %d times", calls)
				}
				return nil
			})
		}
	}
}

// expectStrangersRefused checks that nobody but the replicas reaches what they ask one another.
func (f *fleet) expectStrangersRefused() {
	f.Helper()
	config := f.configOf(f.replicas[0])
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		f.Fatal(err)
	}
	request, err := http.NewRequestWithContext(f.Context(), http.MethodGet, config.Host+"/metacontroller-peers/v1/syncs", nil)
	if err != nil {
		f.Fatal(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusForbidden {
		f.Errorf("the administrator of the cluster gets %s", answer.Status)
	}
}

// The rows of a controller that is split come from several replicas.
func TestTheRowsOfAControllerThatIsSplit(t *testing.T) {
	const parents = 40
	f := newFleet(t, 2)
	four := int32(4)
	f.run(t, 1, parents, func(spec *v1alpha1.CompositeControllerSpec) { spec.Shards = &four })
	for _, replica := range f.replicas {
		client := f.clientOf(replica)
		f.eventually(func(ctx context.Context) error {
			rows, err := syncsOf(ctx, client)
			if err != nil {
				return err
			}
			of := map[string]int{}
			for _, replica := range rows {
				of[replica]++
			}
			if len(rows) != parents || len(of) != len(f.replicas) {
				return fmt.Errorf("there are %d rows of %v", len(rows), of)
			}
			return nil
		})
	}
}

// An informer follows the rows through the host's aggregator, while the replica that it watches is killed, and while the
// host turns to another one.
func TestAnInformerFollowsTheRowsWhateverBecomesOfReplicas(t *testing.T) {
	const parents = 5
	f := newFleet(t, 3)
	f.run(t, 6, parents)
	f.waitForEven(f.replicas...)
	one, two, three := f.replicas[0], f.replicas[1], f.replicas[2]
	followed := f.follow()
	converges := func(what string) {
		t.Helper()
		f.eventually(func(ctx context.Context) error {
			if err := f.expectRows(ctx, followed.rows(), parents); err != nil {
				return fmt.Errorf("%s: the informer: %w", what, err)
			}
			return nil
		})
	}
	converges("at first")

	f.kill(three) // another one than that which is watched
	f.waitUntilRunning(one, two)
	converges("after a replica was killed")

	env.Register(t, two.port)
	f.edit(harness.Name("value"))
	converges("after the host has turned to another one")

	four := f.start()
	f.waitForEven(one, two, four)
	converges("after one has come")

	env.Register(t, four.port)
	f.kill(two) // it is watched
	f.waitUntilRunning(one, four)
	converges("after the one that is watched was killed")

	env.Register(t, one.port)
	f.terminate(four) // it is watched
	f.waitUntilRunning(one)
	converges("after the one that is watched has ended")

	fixture := f.fixtures[0]
	fixture.DeleteParent(parentName(parents - 1))
	f.eventually(func(context.Context) error {
		if rows := followed.rows(); len(rows) != len(f.fixtures)*parents-1 {
			return fmt.Errorf("there are %d rows", len(rows))
		}
		return nil
	})
}

// followed is an informer of rows.
type followed struct{ store cache.Store }

func (f *fleet) follow() followed {
	f.Helper()
	factory := externalversions.NewSharedInformerFactory(env.Metacontroller, 0)
	informer := factory.Metacontroller().V1alpha1().Syncs().Informer()
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.Context()))
	factory.Start(ctx.Done())
	f.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
	if !cache.WaitForCacheSync(f.Context().Done(), informer.HasSynced) {
		f.Fatal("the informer does not sync")
	}
	return followed{informer.GetStore()}
}

func (f followed) rows() map[string]string {
	rows := map[string]string{}
	for _, item := range f.store.List() {
		row := item.(*v1alpha1.Sync)
		rows[row.Namespace+"/"+row.Name] = row.Status.Replica
	}
	return rows
}

// While a replica does not answer, the others show what they can, and say what may be missing.
func TestAReplicaThatDoesNotAnswerIsNamed(t *testing.T) {
	const parents = 2
	f := newFleet(t, 2)
	f.run(t, 4, parents)
	f.waitForEven(f.replicas...)
	one, two := f.replicas[0], f.replicas[1]
	name := two.lease(t)
	f.kill(two)
	warned := &warnings{}
	config := f.configOf(one)
	config.WarningHandler = warned
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	f.eventually(func(ctx context.Context) error {
		began := time.Now()
		rows, err := syncsOf(ctx, client)
		if err != nil {
			return err
		}
		if took := time.Since(began); took > 10*time.Second {
			return fmt.Errorf("the list took %s", took)
		}
		if !warned.has(name) {
			return errors.New("nothing is said of the replica that was killed")
		}
		if len(rows) == 0 {
			return errors.New("nothing is shown of the replica that lives")
		}
		return nil
	})
	f.waitUntilRunning(one)
	f.eventually(func(ctx context.Context) error {
		rows, err := syncsOf(ctx, client)
		if err != nil {
			return err
		}
		return f.expectRows(ctx, rows, parents)
	})
}

// warnings are those of answers.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

func (w *warnings) has(word string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.texts, func(text string) bool { return strings.Contains(text, word) })
}

// A version of one replica is none of another one: a watch from it begins anew.
func TestVersionsOfRowsAreThoseOfOneReplica(t *testing.T) {
	f := newFleet(t, 2)
	f.run(t, 2, 2)
	versions := make([]string, 2)
	for i, replica := range f.replicas {
		list, err := f.clientOf(replica).MetacontrollerV1alpha1().Syncs("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		versions[i] = list.ResourceVersion
	}
	for i, replica := range f.replicas {
		watch, err := f.clientOf(replica).MetacontrollerV1alpha1().Syncs("").Watch(t.Context(), metav1.ListOptions{ResourceVersion: versions[1-i]})
		if err == nil {
			watch.Stop()
		}
		if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			t.Errorf("%s answers a watch from the version of another one with %v", replica.name, err)
		}
	}
}
