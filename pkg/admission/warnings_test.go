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
		noName = `spec.hooks.sync.webhook.url: the server cannot resolve the host "nowhere.default", so it cannot call the hook: check the spelling, or create its Service or DNS name`
	)
	const alsoHandles = " may handle the same parents " +
		"(example.com/v1 and example.com/v2 are versions of the same objects): " +
		"each controller would write their status, and delete the children that only the other one returns"
	for name, test := range map[string]struct {
		host   *fakeHost
		names  *fakeNames
		others map[string]*v1alpha1.LabelSelector
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
		"a type that is defined, but not served yet, beside one of a near name": {
			host: &fakeHost{served: map[string][]string{"example.com/v1": {"page", "page/status"}, "v1": {"pods"}},
				definitions: map[string]string{
					"pages.example.com": "spec: {versions: [{name: v1, served: true}]}",
				}},
			object: composed(), want: []string{noPages},
		},
		"a type whose names are in use": {
			host: &fakeHost{served: map[string][]string{"v1": {"pods"}}, definitions: map[string]string{
				"pages.example.com": `{spec: {versions: [{name: v1, served: true}]}, status: {conditions: [` +
					`{type: NamesAccepted, status: "False", message: '"pages" is already in use'}]}}`,
			}},
			object: composed(),
			want:   []string{noPages + `; the cluster does not accept the names in its CustomResourceDefinition: "pages" is already in use`},
		},
		"a type that is defined in another version, beside one of a near name": {
			host: &fakeHost{served: map[string][]string{"example.com/v1": {"page", "page/status"}, "v1": {"pods"}},
				definitions: map[string]string{
					"pages.example.com": "spec: {versions: [{name: v1}, {name: v2, served: true}]}",
				}},
			object: composed(), want: []string{noPages + `; did you mean "page"?`},
		},
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
		"types of old manifests, which have other versions and groups now": {
			host: &fakeHost{served: map[string][]string{
				"example.com/v1": {"pages", "pages/status"}, "v1": {"pods"},
				"batch/v1": {"cronjobs"}, "networking.k8s.io/v1": {"ingresses"},
			}},
			object: composed(child("extensions/v1beta1", "ingresses"), child("batch/v1beta1", "cronjobs")), want: []string{
				`spec.childResources[1]: the cluster does not serve "ingresses" in extensions/v1beta1 yet; ` +
					`the controller starts as soon as it does; did you mean "ingresses" in networking.k8s.io/v1?`,
				`spec.childResources[2]: the cluster does not serve "cronjobs" in batch/v1beta1 yet; ` +
					`the controller starts as soon as it does; did you mean "cronjobs" in batch/v1?`,
			},
		},
		"no status": {host: &fakeHost{served: map[string][]string{"example.com/v1": {"pages"}, "v1": {"pods"}}}, object: composed(), want: []string{noStatus}},
		"no status of a type of Kubernetes": {object: composed(func(spec *v1alpha1.CompositeControllerSpec) {
			spec.ParentResource.APIVersion, spec.ParentResource.Resource = "v1", "secrets"
		}), host: &fakeHost{served: map[string][]string{"v1": {"pods", "secrets"}}}, want: []string{
			`spec.parentResource: "secrets" in v1 has no status subresource, so the cluster drops the status that hooks return`,
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
			`spec.hooks.sync.webhook.url: the host "evil.default" resolves to 169.254.169.254, and hooks must not have the ` +
				`address ::ffff:169.254.169.254: the server denies 169.254.0.0/16 (--hook-deny-cidrs)`,
		}},
		"a name of an address that is denied, and of one that is not": {object: composed(at("http://half.default/sync"))},
		"no service": {
			object: composed(func(spec *v1alpha1.CompositeControllerSpec) {
				spec.Hooks.Sync.Webhook = &v1alpha1.Webhook{Service: &v1alpha1.ServiceReference{Name: "nowhere", Namespace: "default"}, Path: ptr.To("/sync")}
			}),
			want: []string{`spec.hooks.sync.webhook.service: the server cannot resolve the host "nowhere.default.svc", so it cannot call the hook: ` +
				"check the spelling, or create its Service or DNS name"},
		},
		"a hook that is never called": {object: composed(func(spec *v1alpha1.CompositeControllerSpec) {
			spec.Hooks.PreUpdateChild = hookAt("http://nowhere.default/")
		})},
		"another controller of the parents, in another version": {others: map[string]*v1alpha1.LabelSelector{
			"pages": nil, "other": nil}, object: composed(), want: []string{
			`spec.parentResource: CompositeController "other"` + alsoHandles,
		}},
		"two others": {others: map[string]*v1alpha1.LabelSelector{"b": nil, "a": nil,
			"c": {MatchLabels: map[string]string{"app": "x"}}}, object: composed(), want: []string{
			`spec.parentResource: CompositeController "a" and 2 more` + alsoHandles,
		}},
		"another of other parents by their labels": {
			others: map[string]*v1alpha1.LabelSelector{"other": {MatchLabels: map[string]string{"app": "shop"}}},
			object: composed(func(spec *v1alpha1.CompositeControllerSpec) {
				spec.ParentResource.LabelSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]string{"app": "blog"}}
			}),
		},
		"a child type that namespaced parents cannot have": {host: scopes(), object: composed(child("v1", "nodes")), want: []string{
			`spec.childResources[1]: "nodes" in v1 is cluster-scoped, and the parents are namespaced: this rule never has children, because a namespaced parent cannot own a cluster-scoped object`,
		}},
		"such a child type of cluster-scoped parents": {host: scopes(), object: composed(child("v1", "nodes"), func(spec *v1alpha1.CompositeControllerSpec) {
			spec.ParentResource.Resource = "books"
		})},
		"such a child type of parents that are not there yet": {host: scopes(), object: composed(child("v1", "nodes"), func(spec *v1alpha1.CompositeControllerSpec) {
			spec.ParentResource.Resource = "scrolls"
		}), want: []string{`spec.parentResource: the cluster does not serve "scrolls" in example.com/v1 yet; the controller starts as soon as it does`}},
		"an attachment type that namespaced targets cannot have": {host: scopes(), object: decorating(decorated("pages"), "pods", "nodes"), want: []string{
			`spec.attachments[0]: "nodes" in v1 is cluster-scoped, and the parents are namespaced: this rule never has children, because a namespaced parent cannot own a cluster-scoped object`,
		}},
		"such an attachment type where some targets can have it": {host: scopes(), object: decorating(decorated("pages"), "nodes", "nodes")},
		"no type that the customize hook may ask for, but one of a near name": {object: composed(reach(nil, "pod")), want: []string{
			`spec.relatedResources[0]: the cluster does not serve "pod" in v1 yet; until then, the sync of a parent fails if its customize hook selects this type; did you mean "pods"?`,
		}},
		"a related type that is cluster-scoped": {host: scopes(), object: composed(reach(nil, "nodes"))},
		"cluster-scoped types of a controller of namespaces": {host: scopes(), object: composed(reach([]string{"shop"}, "pods", "nodes"), func(spec *v1alpha1.CompositeControllerSpec) {
			spec.ParentResource.Resource = "books"
		}), want: []string{
			`spec.parentResource: "books" in example.com/v1 is cluster-scoped, and spec.namespaces limits the controller to objects in namespaces, so the controller does not run: remove spec.namespaces, or this type`,
			`spec.relatedResources[1]: "nodes" in v1 is cluster-scoped, and spec.namespaces limits the controller to objects in namespaces, so the controller does not run: remove spec.namespaces, or this type`,
		}},
		"a decorator, of which there may be many": {others: map[string]*v1alpha1.LabelSelector{"other": nil},
			object: decorated("pages")},
		"an update of metadata": {host: &fakeHost{}, object: composed(), stored: composed()},
		"an update of the spec": {
			object: composed(at("http://nowhere.default/sync")), stored: composed(), want: []string{noName},
		},
		"all at once": {
			host: &fakeHost{}, others: map[string]*v1alpha1.LabelSelector{"other": nil},
			object: composed(at("http://nowhere.default/sync")),
			want: []string{
				noPages, `spec.childResources[0]: the cluster does not serve "pods" in v1 yet; the controller starts as soon as it does`, noName,
				`spec.parentResource: CompositeController "other"` + alsoHandles,
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

func selecting(app string) func(*v1alpha1.CompositeControllerSpec) {
	return func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ParentResource.LabelSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	}
}

func finalizing(spec *v1alpha1.CompositeControllerSpec) {
	spec.Hooks.Finalize = hookAt("http://hooks.default/finalize")
}

func ofType(resource string) func(*v1alpha1.CompositeControllerSpec) {
	return func(spec *v1alpha1.CompositeControllerSpec) { spec.ParentResource.Resource = resource }
}

// annotated is a DecoratorController of pages with an annotation, and of pods.
func annotated(expressions ...v1alpha1.LabelSelectorRequirement) *v1alpha1.DecoratorController {
	decorator := decorating(decorated("pages"), "pods", "pods")
	decorator.Spec.Resources[0].AnnotationSelector = &v1alpha1.AnnotationSelector{MatchExpressions: expressions}
	return decorator
}

func TestParentsThatAChangeReleases(t *testing.T) {
	exists := v1alpha1.LabelSelectorRequirement{Key: "app", Operator: metav1.LabelSelectorOpExists}
	const labels, parents = "spec.parentResource.labelSelector", "spec.parentResource"
	stop := func(path, resource, becomes string) string {
		return fmt.Sprintf("%s: the controller releases parents (%s) that no longer match: %s", path, resource, becomes)
	}
	const pages = "pages.example.com"
	const finalized = "it calls their finalize hook"
	const stay = "it stops syncing them, and their children stay as they are"
	const released = "it removes their finalizer without calling the finalize hook, and their children stay as they are"
	const lose = "spec.hooks.finalize: parents lose their finalizer, so the server calls no hook when they are deleted; set this field again to add the finalizer again"
	empty := func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ParentResource.LabelSelector = &v1alpha1.LabelSelector{}
	}
	for name, test := range map[string]struct {
		stored, object runtime.Object
		want           []string
	}{
		"a narrower selector, with a finalize hook": {
			composed(finalizing), composed(finalizing, selecting("shop")), []string{stop(labels, pages, finalized)},
		},
		"a former selector that is empty": {
			composed(finalizing, empty), composed(finalizing, selecting("shop")), []string{stop(labels, pages, finalized)},
		},
		"a narrower selector, without a finalize hook": {
			composed(), composed(selecting("shop")), []string{stop(labels, pages, stay)},
		},
		"another selector": {
			composed(finalizing, selecting("blog")), composed(finalizing, selecting("shop")),
			[]string{stop(labels, pages, finalized)},
		},
		"a wider selector": {composed(finalizing, selecting("blog")), composed(finalizing), nil},
		"another type, with a finalize hook": {
			composed(finalizing), composed(finalizing, ofType("books")), []string{stop(parents, pages, released)},
		},
		"another type, without a finalize hook": {
			composed(), composed(ofType("books")), []string{stop(parents, pages, stay)},
		},
		"no finalize hook any more": {composed(finalizing), composed(), []string{lose}},
		"no finalize hook any more, and a narrower selector": {
			composed(finalizing), composed(selecting("shop")), []string{stop(labels, pages, released), lose},
		},
		"a change of something else": {
			composed(finalizing, selecting("blog")), composed(finalizing, selecting("blog"), child("v1", "pods")), nil,
		},
		"targets by their annotations": {
			annotated(), annotated(exists), []string{stop("spec.resources", pages, stay)},
		},
		"a type of targets that is gone": {
			annotated(exists), decorated("pods"),
			[]string{stop("spec.resources", pages, stay), stop("spec.resources", "pods", stay)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := releasedParents(controllerOf(test.stored), controllerOf(test.object))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			for _, text := range got {
				if len(text) > 256 {
					t.Errorf("the warning has %d characters, want 256 at most", len(text))
				}
			}
		})
	}
}

func rolling(spec *v1alpha1.CompositeControllerSpec) {
	spec.ChildResources[0].UpdateStrategy = &v1alpha1.CompositeControllerChildUpdateStrategy{
		Method: new(v1alpha1.ChildUpdateRollingInPlace)}
}

func TestFieldsThatTheSchemaOfParentsLacks(t *testing.T) {
	const (
		begin = `spec.parentResource: the schema of "pages" in example.com/v1 has no `
		end   = ": the controller writes this, and the cluster drops it"
	)
	version := func(status string) string {
		return `{spec: {versions: [{name: v1beta1, schema: {openAPIV3Schema: {}}}, {name: v1, schema: {openAPIV3Schema: {properties: {spec: {}, ` + status + `}}}}]}}`
	}
	for name, test := range map[string]struct {
		definition string
		object     runtime.Object
		want       string
	}{
		"no status": {
			version("metadata: {}"), composed(), begin + "status, so the cluster drops the status that hooks return, and " +
				"status.observedGeneration",
		},
		"no observedGeneration": {
			version("status: {properties: {replicas: {}}}"), composed(), begin + "status.observedGeneration" + end,
		},
		"all that is written":      {version("status: {properties: {observedGeneration: {}}}"), composed(), ""},
		"a status with all fields": {version("status: {x-kubernetes-preserve-unknown-fields: true}"), composed(rolling), ""},
		"a status with any names":  {version("status: {additionalProperties: {type: string}}"), composed(), ""},
		"no conditions, and no rolling method": {
			version("status: {properties: {observedGeneration: {}, conditions: {items: {properties: {}}}}}"), composed(), "",
		},
		"no conditions of a controller that rolls": {
			version("status: {properties: {observedGeneration: {}}}"), composed(rolling), begin + "status.conditions, which has the condition Updated" + end,
		},
		"conditions without a time": {
			version("status: {properties: {conditions: {items: {properties: {type: {}, status: {}, reason: {}, message: {}}}}}}"), composed(rolling),
			begin + "status.observedGeneration and no status.conditions[].lastTransitionTime" + end,
		},
		"no schema":                       {`{spec: {versions: [{name: v1}]}}`, composed(), ""},
		"no such version":                 {`{spec: {versions: [{name: v2, schema: {openAPIV3Schema: {}}}]}}`, composed(), ""},
		"a definition that keeps all":     {`{spec: {preserveUnknownFields: true, versions: [{name: v1, schema: {openAPIV3Schema: {}}}]}}`, composed(), ""},
		"no definition":                   {"", composed(), ""},
		"a decorator, which adds nothing": {version("metadata: {}"), decorated("pages"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			host := &fakeHost{}
			if test.definition != "" {
				host.definitions = map[string]string{"pages.example.com": test.definition}
			}
			if got := host.asHost().lostFields(t.Context(), controllerOf(test.object)); got != test.want {
				t.Errorf("warning\n%q, want\n%q", got, test.want)
			}
		})
	}
}

func TestNobodyIsWarnedOfASchemaThatCannotBeRead(t *testing.T) {
	if got := (&fakeHost{discoveryErr: errGone}).asHost().lostFields(t.Context(), controllerOf(composed())); got != "" {
		t.Errorf("warned of %q", got)
	}
}
