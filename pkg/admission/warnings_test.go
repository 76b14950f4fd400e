// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// recorder keeps warnings.
type recorder []string

func (r *recorder) AddWarning(_, text string) { *r = append(*r, text) }

// fakeNames resolves hooks.default, evil.default to where no hook may be, and nothing else.
type fakeNames struct {
	err error

	mu     sync.Mutex
	lookUp []string
}

func (n *fakeNames) Lookup(_ context.Context, _, name string) ([]netip.Addr, error) {
	n.mu.Lock()
	n.lookUp = append(n.lookUp, name)
	n.mu.Unlock()
	switch {
	case n.err != nil:
		return nil, n.err
	case name == "hooks.default":
		return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
	case name == "half.default":
		return []netip.Addr{netip.MustParseAddr("169.254.0.1"), netip.MustParseAddr("10.0.0.1")}, nil
	case name == "evil.default":
		return []netip.Addr{netip.MustParseAddr("::ffff:169.254.169.254")}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

// proxyFor is the proxy of hooks at one host.
func proxyFor(host string) func(*http.Request) (*url.URL, error) {
	return func(request *http.Request) (*url.URL, error) {
		if request.URL.Hostname() == host {
			return &url.URL{Scheme: "http", Host: "proxy:3128"}, nil
		}
		return nil, nil
	}
}

// parentIndex returns an index of CompositeControllers of pages, given by their names and
// selectors.
func parentIndex(t *testing.T, selectors map[string]*metav1.LabelSelector) *ParentIndex {
	t.Helper()
	var all []*v1alpha1.CompositeController
	for name, selector := range selectors {
		all = append(all, &v1alpha1.CompositeController{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1alpha1.CompositeControllerSpec{ParentResource: v1alpha1.CompositeControllerParentResourceRule{
				ResourceRule: v1alpha1.ResourceRule{APIVersion: "example.com/v2", Resource: "pages"}, LabelSelector: selector,
			}},
		})
	}
	return indexOf(t, all...)
}

func indexOf(t *testing.T, all ...*v1alpha1.CompositeController) *ParentIndex {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{byParent: parentResource})
	for _, one := range all {
		stored, err := trimToParent(one)
		if err == nil {
			err = indexer.Add(stored)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	index := &ParentIndex{}
	index.indexer.Store(&indexer)
	return index
}

// Of controllers in other namespaces, an author is not even told the names.
func TestControllersWithoutANamespaceInCommonHandleNoParentsInCommon(t *testing.T) {
	limitedTo := func(namespaces ...string) *controller {
		return controllerOf(composed(func(spec *v1alpha1.CompositeControllerSpec) { spec.Namespaces = namespaces }))
	}
	index := indexOf(t, &v1alpha1.CompositeController{
		ObjectMeta: metav1.ObjectMeta{Name: "other"},
		Spec: v1alpha1.CompositeControllerSpec{
			ParentResource: v1alpha1.CompositeControllerParentResourceRule{ResourceRule: v1alpha1.ResourceRule{APIVersion: "example.com/v1", Resource: "pages"}},
			Access:         v1alpha1.Access{Namespaces: []string{"bank", "shared"}},
		},
	})
	for name, test := range map[string]struct {
		controller *controller
		want       int
	}{
		"in one of its namespaces": {limitedTo("shop", "shared"), 1},
		"in others":                {limitedTo("shop"), 0},
		"in all":                   {limitedTo(), 1},
	} {
		if warnings := index.warnings("pages", test.controller); len(warnings) != test.want {
			t.Errorf("%s: %q", name, warnings)
		}
	}
}

// served are the types that all is well with.
func served() map[string][]string {
	return map[string][]string{"example.com/v1": {"pages", "pages/status"}, "v1": {"pods", "pods/status"}}
}

func TestWarnings(t *testing.T) {
	at := func(url string) func(*v1alpha1.CompositeControllerSpec) {
		return func(spec *v1alpha1.CompositeControllerSpec) { spec.Hooks.Sync = hookAt(url) }
	}
	const (
		noPages  = `spec.parentResource: the cluster does not serve "pages" in example.com/v1 yet; the controller starts as soon as it does`
		noStatus = `spec.parentResource: "pages" in example.com/v1 has no status subresource, so the controller does not run until its CustomResourceDefinition has one: ` +
			`add subresources: {status: {}} to the version`
		noName = `spec.hooks.sync.webhook.url: the host "nowhere.default" cannot be resolved where the server runs, so the hook cannot be called until it can`
	)
	for name, test := range map[string]struct {
		host   *fakeHost
		names  *fakeNames
		others map[string]*metav1.LabelSelector
		object runtime.Object
		stored runtime.Object
		want   []string
	}{
		"all is well":         {object: composed()},
		"no type of parents":  {host: &fakeHost{served: map[string][]string{"v1": {"pods"}}}, object: composed(), want: []string{noPages}},
		"no such version":     {host: &fakeHost{served: map[string][]string{"example.com/v1": {"books"}, "v1": {"pods"}}}, object: composed(), want: []string{noPages}},
		"no type of children": {object: composed(child("v1", "wheels")), want: []string{`spec.childResources[1]: the cluster does not serve "wheels" in v1 yet; the controller starts as soon as it does`}},
		"no type of children, but one of a near name": {object: composed(child("v1", "pod")), want: []string{
			`spec.childResources[1]: the cluster does not serve "pod" in v1 yet; the controller starts as soon as it does; did you mean "pods"?`,
		}},
		"no type of children, but one of a near name, while not all groups answer": {
			host:   &fakeHost{served: map[string][]string{"example.com/v1": {"pages", "pages/status"}, "v1": {"pods"}}, allTypesErr: errors.New("timed out")},
			object: composed(child("v1", "pod")),
			want: []string{
				`spec.childResources[1]: the cluster does not serve "pod" in v1 yet; the controller starts as soon as it does; did you mean "pods"?`,
			},
		},
		"no type of parents, but one in another version": {object: composed(func(spec *v1alpha1.CompositeControllerSpec) {
			spec.ParentResource.APIVersion = "example.com/v1beta1"
		}), want: []string{
			`spec.parentResource: the cluster does not serve "pages" in example.com/v1beta1 yet; the controller starts as soon as it does; did you mean "pages" in example.com/v1?`,
		}},
		"no status": {host: &fakeHost{served: map[string][]string{"example.com/v1": {"pages"}, "v1": {"pods"}}}, object: composed(), want: []string{noStatus}},
		"no status of a type of Kubernetes": {object: composed(func(spec *v1alpha1.CompositeControllerSpec) {
			spec.ParentResource.APIVersion, spec.ParentResource.Resource = "v1", "secrets"
		}), host: &fakeHost{served: map[string][]string{"v1": {"pods", "secrets"}}}, want: []string{
			`spec.parentResource: "secrets" in v1 has no status subresource, so the status that hooks answer is lost`,
		}},
		"no status of a decorator's target":        {host: &fakeHost{served: map[string][]string{"example.com/v1": {"pages"}}}, object: decorated("pages")},
		"no type of a decorator's target":          {object: decorated("books"), want: []string{`spec.resources[0]: the cluster does not serve "books" in example.com/v1 yet; the controller starts as soon as it does`}},
		"no answer of the host":                    {host: &fakeHost{discoveryErr: errGone}, object: composed()},
		"no name of a hook":                        {object: composed(at("http://nowhere.default:8080/sync")), want: []string{noName}},
		"no answer of the name service":            {names: &fakeNames{err: &net.DNSError{Err: "timeout", IsTimeout: true}}, object: composed(at("http://nowhere.default/sync"))},
		"another error of the name service":        {names: &fakeNames{err: errors.New("no route")}, object: composed(at("http://nowhere.default/sync"))},
		"a name that the proxy resolves":           {object: composed(at("http://behind.proxy/sync"))},
		"an address, which has not to be resolved": {object: composed(at("http://[::1]:80/sync"))},
		"a name of a denied address": {object: composed(at("http://evil.default/sync")), want: []string{
			`spec.hooks.sync.webhook.url: the host "evil.default" leads to 169.254.169.254, and hooks must not have the address ::ffff:169.254.169.254: the server denies 169.254.0.0/16 (--hook-deny-cidrs)`,
		}},
		"a name of an address that is denied, and of one that is not": {object: composed(at("http://half.default/sync"))},
		"no service": {
			object: composed(func(spec *v1alpha1.CompositeControllerSpec) {
				spec.Hooks.Sync.Webhook = &v1alpha1.Webhook{Service: &v1alpha1.ServiceReference{Name: "nowhere", Namespace: "default"}, Path: ptr.To("/sync")}
			}),
			want: []string{`spec.hooks.sync.webhook.service: the host "nowhere.default.svc" cannot be resolved ` +
				"where the server runs, so the hook cannot be called until it can"},
		},
		"a hook that is never called": {object: composed(func(spec *v1alpha1.CompositeControllerSpec) {
			spec.Hooks.PreUpdateChild = hookAt("http://nowhere.default/")
		})},
		"another controller of the parents, in another version": {others: map[string]*metav1.LabelSelector{"pages": nil, "other": nil}, object: composed(), want: []string{
			`spec.parentResource: CompositeController "other" may handle the same parents: each would write their status, and delete children that only the other wants`,
		}},
		"two others": {others: map[string]*metav1.LabelSelector{"b": nil, "a": nil, "c": {MatchLabels: map[string]string{"app": "x"}}}, object: composed(), want: []string{
			`spec.parentResource: CompositeController "a" and 2 more may handle the same parents: each would write their status, and delete children that only the other wants`,
		}},
		"another of other parents by their labels": {
			others: map[string]*metav1.LabelSelector{"other": {MatchLabels: map[string]string{"app": "shop"}}},
			object: composed(func(spec *v1alpha1.CompositeControllerSpec) {
				spec.ParentResource.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "blog"}}
			}),
		},
		"a child type that namespaced parents cannot have": {host: scopes(), object: composed(child("v1", "nodes")), want: []string{
			`spec.childResources[1]: "nodes" in v1 is cluster-scoped, and the parents are namespaced: this rule can never have a child, because an object without a namespace cannot belong to one in a namespace`,
		}},
		"such a child type of cluster-scoped parents": {host: scopes(), object: composed(child("v1", "nodes"), func(spec *v1alpha1.CompositeControllerSpec) {
			spec.ParentResource.Resource = "books"
		})},
		"such a child type of parents that are not there yet": {host: scopes(), object: composed(child("v1", "nodes"), func(spec *v1alpha1.CompositeControllerSpec) {
			spec.ParentResource.Resource = "scrolls"
		}), want: []string{`spec.parentResource: the cluster does not serve "scrolls" in example.com/v1 yet; the controller starts as soon as it does`}},
		"an attachment type that namespaced targets cannot have": {host: scopes(), object: decorating(decorated("pages"), "pods", "nodes"), want: []string{
			`spec.attachments[0]: "nodes" in v1 is cluster-scoped, and the parents are namespaced: this rule can never have a child, because an object without a namespace cannot belong to one in a namespace`,
		}},
		"such an attachment type where some targets can have it": {host: scopes(), object: decorating(decorated("pages"), "nodes", "nodes")},
		"no type that the customize hook may ask for, but one of a near name": {object: composed(reach(nil, "pod")), want: []string{
			`spec.relatedResources[0]: the cluster does not serve "pod" in v1 yet; parents whose customize hook asks for it fail until it does; did you mean "pods"?`,
		}},
		"a related type that is cluster-scoped": {host: scopes(), object: composed(reach(nil, "nodes"))},
		"cluster-scoped types of a controller of namespaces": {host: scopes(), object: composed(reach([]string{"shop"}, "pods", "nodes"), func(spec *v1alpha1.CompositeControllerSpec) {
			spec.ParentResource.Resource = "books"
		}), want: []string{
			`spec.parentResource: "books" in example.com/v1 is cluster-scoped, and spec.namespaces limits the controller to objects in namespaces, so the controller does not run: remove spec.namespaces, or this type`,
			`spec.relatedResources[1]: "nodes" in v1 is cluster-scoped, and spec.namespaces limits the controller to objects in namespaces, so the controller does not run: remove spec.namespaces, or this type`,
		}},
		"a decorator, of which there may be many": {others: map[string]*metav1.LabelSelector{"other": nil}, object: decorated("pages")},
		"an update of metadata":                   {host: &fakeHost{}, object: composed(), stored: composed()},
		"an update of the spec": {
			object: composed(at("http://nowhere.default/sync")), stored: composed(), want: []string{noName},
		},
		"all at once": {
			host: &fakeHost{}, others: map[string]*metav1.LabelSelector{"other": nil}, object: composed(at("http://nowhere.default/sync")),
			want: []string{
				noPages, `spec.childResources[0]: the cluster does not serve "pods" in v1 yet; the controller starts as soon as it does`, noName,
				`spec.parentResource: CompositeController "other" may handle the same parents: each would write their status, and delete children that only the other wants`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			host, names := test.host, test.names
			if host == nil {
				host = &fakeHost{served: served()}
			}
			if names == nil {
				names = &fakeNames{}
			}
			plugin := NewWarnings(parentIndex(t, test.others), HookResolver{Lookup: names.Lookup, Proxy: proxyFor("behind.proxy"), Denied: hookaddress.DeniedByDefault()})
			NewInitializer(host.asHost()).Initialize(plugin)
			var got recorder
			if err := plugin.Validate(warning.WithWarningRecorder(t.Context(), &got), request(jane(), "", test.object, test.stored), nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, []string(got)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// reach limits the controller to namespaces, and its customize hook to types of v1.
func reach(namespaces []string, related ...string) func(*v1alpha1.CompositeControllerSpec) {
	return func(spec *v1alpha1.CompositeControllerSpec) {
		spec.Namespaces = namespaces
		for _, resource := range related {
			spec.RelatedResources = append(spec.RelatedResources, v1alpha1.ResourceRule{APIVersion: "v1", Resource: resource})
		}
	}
}

// scopes is a host that serves namespaced and cluster-scoped types.
func scopes() *fakeHost {
	return &fakeHost{served: map[string][]string{"v1": {"pods", "nodes*", "nodes/status*"}, "example.com/v1": {"pages", "pages/status", "books*", "books/status*"}}}
}

func TestNobodyIsWarnedBeforeControllersAreKnown(t *testing.T) {
	if got := (&ParentIndex{}).warnings("pages", controllerOf(composed())); got != nil {
		t.Errorf("warned of %q", got)
	}
}

func TestANameIsLookedUpOnce(t *testing.T) {
	names := &fakeNames{}
	controller := composed(func(spec *v1alpha1.CompositeControllerSpec) {
		spec.Hooks.Finalize, spec.Hooks.Customize = hookAt("http://nowhere.default/finalize"), hookAt("https://hooks.default/customize")
	})
	warnings := HookResolver{Lookup: names.Lookup, Proxy: proxyFor("")}.warnings(t.Context(), controllerOf(controller))
	slices.Sort(names.lookUp)
	if !slices.Equal(names.lookUp, []string{"hooks.default", "nowhere.default"}) || len(warnings) != 1 {
		t.Errorf("looked up %q, warned of %q", names.lookUp, warnings)
	}
}

// Who waits for a name service that does not answer waits for a second.
func TestWarningsDoNotWaitForNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		host := &fakeHost{served: served()}
		plugin := NewWarnings(&ParentIndex{}, HookResolver{Lookup: slow, Proxy: proxyFor("")})
		NewInitializer(host.asHost()).Initialize(plugin)
		var got recorder
		began := time.Now()
		if err := plugin.Validate(warning.WithWarningRecorder(t.Context(), &got), request(jane(), "", composed(), nil), nil); err != nil || len(got) > 0 {
			t.Errorf("error %v, warnings %q", err, got)
		}
		if took := time.Since(began); took != resolveTimeout {
			t.Errorf("it took %s", took)
		}
	})
}

func TestSelectorsThatKeepParentsApart(t *testing.T) {
	label := func(operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: operator, Values: values}}}
	}
	for i, test := range []struct {
		a, b *metav1.LabelSelector
		want bool
	}{
		{nil, nil, false},
		{nil, label("Exists"), false},
		{&metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "b"}}, true},
		{&metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}, &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "b"}}, false},
		{label("In", "a", "b"), label("In", "b", "c"), false},
		{label("In", "a", "b"), label("In", "c"), true},
		{label("In", "a"), label("NotIn", "a", "b"), true},
		{label("In", "a", "c"), label("NotIn", "a", "b"), false},
		{label("In", "a"), label("DoesNotExist"), true},
		{label("Exists"), label("DoesNotExist"), true},
		{label("Exists"), label("In", "a"), false},
		{label("NotIn", "a"), label("NotIn", "b"), false},
		{label("NotIn", "a"), label("DoesNotExist"), false},
		{label("In"), label("In", "a"), false}, // the first is no selector
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if got := areDisjoint(test.a, test.b); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
			if areDisjoint(test.b, test.a) != test.want {
				t.Error("it is otherwise the other way round")
			}
		})
	}
}

// All controllers are compared with one another, as far as they have the same parents.
func TestSharedParents(t *testing.T) {
	of := func(name, resource string, labels map[string]string) *v1alpha1.CompositeController {
		controller := &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: name}}
		controller.Spec.ParentResource.ResourceRule = v1alpha1.ResourceRule{APIVersion: "example.com/v1", Resource: resource}
		if labels != nil {
			controller.Spec.ParentResource.LabelSelector = &metav1.LabelSelector{MatchLabels: labels}
		}
		return controller
	}
	const suffix = " may handle the same parents: each would write their status, and delete children that only the other wants"
	want := map[string]string{
		"all":  `spec.parentResource: CompositeController "blog" and 1 more` + suffix,
		"blog": `spec.parentResource: CompositeController "all"` + suffix,
		"shop": `spec.parentResource: CompositeController "all"` + suffix,
	}
	got := SharedParents([]*v1alpha1.CompositeController{
		of("shop", "pages", map[string]string{"app": "shop"}), of("blog", "pages", map[string]string{"app": "blog"}), of("all", "pages", nil), of("alone", "books", nil),
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
