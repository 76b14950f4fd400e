// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

// authorizer answers reviews.
type authorizer struct {
	mu sync.Mutex
	// refused are the rights that the host refuses to everyone: "<verb> <resource> in <namespace>".
	refused map[string]bool
	asked   []string
}

func (a *authorizer) Create(_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := review.Spec.ResourceAttributes
	right := of.Verb + " " + of.Resource + " in " + of.Namespace
	a.asked = append(a.asked, right)
	review = review.DeepCopy()
	review.Status.Allowed = !a.refused[right]
	return review, nil
}

func (a *authorizer) reviews() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.asked)
}

func (a *authorizer) refuse(right string, refused bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused[right] = refused
}

// observeAs is observe for a controller that acts as a service account with all rights but these.
func observeAs(t *testing.T, refused ...string) (*observing, *authorizer) {
	t.Helper()
	o, cluster := observe(t), &authorizer{refused: map[string]bool{}}
	for _, right := range refused {
		cluster.refuse(right, true)
	}
	known := permissions.New(cluster)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { known.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	account := &v1alpha1.ServiceAccountReference{Namespace: "own", Name: "webs"}
	o.Require = func(required []rights.Required, changed func()) *permissions.Requirement {
		return known.Require(account, required, changed)
	}
	return o, cluster
}

func TestWhatTheServiceAccountMayNotReadIsNotShown(t *testing.T) {
	green := "color=green"
	for name, test := range map[string]struct {
		rule       pipeline.RelatedRule
		namespaces []string
		// lacks is the right that is missing. Without it, the rule is met.
		lacks string
	}{
		"a type in the whole cluster": {rule: pipeline.RelatedRule{APIVersion: "v1", Resource: "configmaps"}, lacks: "watch configmaps in "},
		"a type in a namespace":       {rule: pipeline.RelatedRule{APIVersion: "v1", Resource: "configmaps", Namespace: "other"}, lacks: "list configmaps in other"},
		"a type in the namespaces of the controller": {
			rule: pipeline.RelatedRule{APIVersion: "v1", Resource: "configmaps"}, namespaces: []string{"own", "other"}, lacks: "list configmaps in other",
		},
		"the namespaces whose labels are selected": {
			rule: pipeline.RelatedRule{APIVersion: "v1", Resource: "configmaps", NamespaceSelector: selector(t, &green)}, lacks: "list namespaces in ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := observeAs(t, test.lacks)
			o.Namespaces = object.NewNamespaces(test.namespaces)
			o.says(test.rule)
			related, err := o.observe("a", 1)
			refusal, ok := errors.AsType[*permissions.Error](err)
			if !ok || !refusal.IsForbidden() || len(refusal.Missing) != 1 || related != nil {
				t.Fatalf("it is shown %v, the error is %v", related, err)
			}
			missing := refusal.Missing[0]
			if got := missing.Verb + " " + missing.Resource + " in " + missing.Namespace; got != test.lacks {
				t.Errorf("missing is %q, want %q", got, test.lacks)
			}
			if watched := o.host.watched(); watched != "" {
				t.Errorf("%s are watched although they may not be shown", watched)
			}
			if said := o.Refusal(); said == nil || said.Error() != refusal.Error() {
				t.Errorf("the refusal of the controller is %v", said)
			}
			if _, err := o.observe("a", 1); err == nil || o.calls() != 1 {
				t.Errorf("the next time, the error is %v, and the hook has been asked %d times", err, o.calls())
			}
			o.Forget(o.answers[keyOf("own", "a")])
			if said := o.Refusal(); said != nil {
				t.Errorf("without the parent, the refusal is %v", said)
			}
		})
	}
}

func TestTheRefusalOfAllStaysWhileThoseOfTheParentsDo(t *testing.T) {
	of := func(verb string, err error) *permissions.Error {
		missing := permissions.ToShow(configMaps, nil, "a test")
		missing[0].Verb = verb
		return &permissions.Error{Missing: missing, Unanswered: err}
	}
	var r refusals
	a, b := &Answer{}, &Answer{}
	for _, step := range []struct {
		name    string
		answer  *Answer
		refusal error
		same    bool
	}{
		{"a parent is refused", a, of("list", nil), false},
		{"it is refused again", a, of("list", nil), true},
		{"another is refused", b, of("list", nil), false},
		{"it is refused something else", b, of("get", nil), false},
		{"the cluster no longer answers", b, of("get", errors.New("gone")), false},
		{"it still does not", b, of("get", errors.New("gone")), true},
		{"it fails in another way", b, of("get", errors.New("refused")), false},
		{"one is allowed", b, nil, false},
		{"it is allowed again", b, nil, true},
	} {
		before := r.joined()
		r.note(step.answer, step.refusal)
		if same := r.joined() == before; same != step.same {
			t.Errorf("%s: the refusal is the same: %t, want %t", step.name, same, step.same)
		}
	}
}

func TestReviewsDependOnTypesAndNotOnParents(t *testing.T) {
	o, cluster := observeAs(t)
	o.host.put(t, configMaps, "name: web, namespace: own")
	o.says(pipeline.RelatedRule{APIVersion: "v1", Resource: "configmaps", Namespace: "own"}, pipeline.RelatedRule{APIVersion: "v1", Resource: "configmaps", Namespace: "own", Names: []string{"x"}})
	for range 3 {
		for _, parent := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
			o.shows("parent-"+parent, 1, "ConfigMap[own/web]")
		}
	}
	if asked := cluster.reviews(); asked != 2 {
		t.Errorf("%d reviews were asked for, want 2: %v", asked, cluster.asked)
	}
}

func TestAChangedAnswerEnqueuesTheParentsThatNeedTheRight(t *testing.T) {
	o, _ := observeAs(t)
	require := o.Require
	var changed []func()
	o.Require = func(required []rights.Required, tell func()) *permissions.Requirement {
		changed = append(changed, tell)
		return require(required, tell)
	}
	o.host.put(t, configMaps, "name: web, namespace: own")
	o.says(pipeline.RelatedRule{APIVersion: "v1", Resource: "configmaps"})
	o.shows("a", 1, "ConfigMap[own/web]")
	o.shows("b", 1, "ConfigMap[own/web]")
	o.triggered()
	if len(changed) != 2 {
		t.Fatalf("%d requirements were made, want one for each parent", len(changed))
	}
	changed[1]()
	if triggered := o.triggered(); triggered != "b" {
		t.Errorf("%q are enqueued, want b", triggered)
	}
}

func TestAHookMayAskOnlyForTheListedTypes(t *testing.T) {
	listed := []v1alpha1.ResourceRule{{APIVersion: "v1", Resource: "configmaps"}}
	for name, test := range map[string]struct {
		listed []v1alpha1.ResourceRule
		asks   pipeline.RelatedRule
		want   string
	}{
		"no type is listed":  {nil, pipeline.RelatedRule{APIVersion: "v1", Resource: "namespaces"}, ""},
		"the type is listed": {listed, pipeline.RelatedRule{APIVersion: "v1", Resource: "configmaps"}, ""},
		"in another version": {listed, pipeline.RelatedRule{APIVersion: "v2", Resource: "configmaps"}, ""},
		"another resource": {listed, pipeline.RelatedRule{APIVersion: "v1", Resource: "secrets"}, "relatedResources[0] " +
			"(secrets in v1): the controller limits the types that its customize hook may select; add {apiVersion: v1, " +
			"resource: secrets} to spec.relatedResources"},
		"of another group":    {listed, pipeline.RelatedRule{APIVersion: "metrics.k8s.io/v1", Resource: "configmaps"}, "add {apiVersion: metrics.k8s.io/v1, resource: configmaps} to spec.relatedResources"},
		"of no valid version": {listed, pipeline.RelatedRule{APIVersion: "a/b/c", Resource: "configmaps"}, "(configmaps in a/b/c)"},
	} {
		t.Run(name, func(t *testing.T) {
			err := restriction(test.listed).check([]pipeline.RelatedRule{test.asks})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}

func TestAnAnswerNeedsABoundedNumberOfRights(t *testing.T) {
	inNamespaces := func(count int) (rules []pipeline.RelatedRule) {
		for i := range count {
			rules = append(rules, pipeline.RelatedRule{APIVersion: "v1", Resource: "configmaps", Namespace: fmt.Sprintf("n%d", i)})
		}
		return append(rules, rules...) // what is asked for twice counts once
	}
	o, cluster := observeAs(t)
	o.says(inNamespaces(1025)...)
	const want = "customize hook: the answer needs more than 2048 read permissions: select fewer types, or fewer " +
		"namespaces"
	if _, err := o.observe("a", 1); err == nil || err.Error() != want {
		t.Errorf("the error is %v", err)
	}
	if asked := cluster.reviews(); asked > 0 {
		t.Errorf("%d reviews were asked for", asked)
	}
	o.says(pipeline.RelatedRule{APIVersion: "v1", Resource: "configmaps"})
	o.shows("a", 1, "ConfigMap[]")
	o.says(inNamespaces(1024)...)
	o.shows("b", 1, "ConfigMap[]")
	without := observe(t)
	without.says(inNamespaces(1025)...)
	without.shows("a", 1, "ConfigMap[]")
}

func TestAnAnswerThatAsksForAnotherTypeIsAskedForAgain(t *testing.T) {
	o := observe(t)
	o.Types = []v1alpha1.ResourceRule{{APIVersion: "v1", Resource: "configmaps"}}
	o.says(pipeline.RelatedRule{APIVersion: "v1", Resource: "namespaces"})
	if _, err := o.observe("a", 1); err == nil || !strings.Contains(err.Error(), "spec.relatedResources") {
		t.Errorf("the error is %v", err)
	}
	o.says(pipeline.RelatedRule{APIVersion: "v1", Resource: "configmaps"})
	o.shows("a", 1, "ConfigMap[]")
}

func TestAQuietSyncCostsTheSameWithAServiceAccount(t *testing.T) {
	cost := func(o *observing) int {
		o.host.put(t, configMaps, "name: web, namespace: own")
		o.says(pipeline.RelatedRule{APIVersion: "v1", Resource: "configmaps", Namespace: "own"})
		o.shows("a", 1, "ConfigMap[own/web]")
		answer := o.answers[keyOf("own", "a")]
		parent := parsed(t, `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: a, namespace: own, uid: u-a, generation: 1}}`)
		return alloctest.Least(func() { _ = o.Observe(t.Context(), answer, &pipeline.Snapshot{Parent: parent}) })
	}
	as, _ := observeAs(t)
	if with, without := cost(as), cost(observe(t)); with != without {
		t.Errorf("an observation makes %d allocations, and %d without a service account", with, without)
	}
}
