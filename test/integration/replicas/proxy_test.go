// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// expectAnswersOfTheLeader checks that a replica answers what only the leader has in memory: each row, its calls, a
// review and a request for syncs.
func (f *fleet) expectAnswersOfTheLeader(from *replica, parents int) {
	f.Helper()
	made, err := versioned.NewForConfig(f.configOf(from))
	if err != nil {
		f.Fatal(err)
	}
	client, fixture := made.MetacontrollerV1alpha1(), f.fixtures[0]
	f.eventually(func(ctx context.Context) error {
		rows, err := client.Syncs("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if want := len(f.fixtures) * parents; len(rows.Items) != want {
			return fmt.Errorf("%s shows %d rows, want %d", from.name, len(rows.Items), want)
		}
		_, err = client.Syncs(fixture.Namespace).Get(ctx, rows.Items[0].Name, metav1.GetOptions{})
		if rows.Items[0].Namespace != fixture.Namespace {
			err = nil // it is of another controller
		}
		return err
	})
	f.expectWatch(client.Syncs(fixture.Namespace).Watch)
	f.eventually(func(ctx context.Context) error { return f.expectCall(ctx, made) })
	review, err := client.SyncReviews().Create(f.Context(), &v1alpha1.SyncReview{Spec: v1alpha1.SyncReviewSpec{
		Controller: v1alpha1.SyncReviewController{Kind: "CompositeController", Name: fixture.Controller.Name},
		Parents:    &v1alpha1.SyncReviewParents{Limit: ptr.To[int32](100)},
	}}, metav1.CreateOptions{})
	if err != nil || review.Status.Controller != v1alpha1.ReviewedByRunning || len(review.Status.Syncs) != parents {
		f.Errorf("%s answers a review with %+v, %v", from.name, review, err)
	}
	f.expectResync(made, fixture, parents)
}

// expectWatch checks that a watch begins with what is there.
func (f *fleet) expectWatch(begin func(context.Context, metav1.ListOptions) (watch.Interface, error)) {
	f.Helper()
	watching, err := begin(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	defer watching.Stop()
	if event := <-watching.ResultChan(); event.Type != watch.Added {
		f.Errorf("the first event is %+v", event)
	}
}

// expectCall returns an error unless a call of a hook is shown with its bodies.
func (f *fleet) expectCall(ctx context.Context, client versioned.Interface) error {
	calls := client.MetacontrollerV1alpha1().HookCalls(f.fixtures[0].Namespace)
	list, err := calls.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return fmt.Errorf("there are no calls")
	}
	whole, err := calls.Get(ctx, list.Items[0].Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	sent := whole.Status.Request.Object
	if sent == nil || !strings.Contains(string(sent.Raw), string(whole.Spec.Parent.UID)) {
		return fmt.Errorf("call %s is %+v", whole.Name, whole.Status)
	}
	return nil
}

// expectResync checks that the parents of a controller are synced on request.
func (f *fleet) expectResync(client versioned.Interface, of *harness.Fixture, parents int) {
	f.Helper()
	before := len(f.hook.Calls())
	request := v1alpha1.ResyncRequest{Spec: v1alpha1.ResyncRequestSpec{Parents: &v1alpha1.ResyncParents{}}}
	request.APIVersion, request.Kind = v1alpha1.SchemeGroupVersion.String(), "ResyncRequest"
	body, err := json.Marshal(request)
	if err != nil {
		f.Fatal(err)
	}
	var answer v1alpha1.ResyncRequest
	raw, err := client.MetacontrollerV1alpha1().RESTClient().Post().
		Resource("compositecontrollers").Name(of.Controller.Name).SubResource("resync").
		SetHeader("Content-Type", "application/json").Body(body).Do(f.Context()).Raw()
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	if err != nil || int(answer.Status.Parents) != parents || len(answer.Status.Notes) > 0 {
		f.Fatalf("a request for syncs is answered with %+v, %v", answer.Status, err)
	}
	f.eventually(func(context.Context) error {
		if calls := len(f.hook.Calls()) - before; calls < parents {
			return fmt.Errorf("the hook was called %d times", calls)
		}
		return nil
	})
}
