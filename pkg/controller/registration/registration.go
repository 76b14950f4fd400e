// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registration watches the APIService of this server. Controllers run only while it points to this server and
// does not hold them.
//
// The API group can be served by this server or by CustomResourceDefinitions, and there is one APIService for it. So
// two programs never act on the same objects, a restart changes nothing, and the APIService shows which program acts.
package registration

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Config names the registration to watch.
type Config struct {
	// APIService is the name of the APIService.
	APIService string
	// Namespace and Service identify the Service of this server.
	Namespace, Service string
}

// Registration is the registration of this process, as far as it knows. While the host does not answer, its last
// answer counts.
type Registration struct {
	config Config
	client dynamic.Interface
	// setting lets one goroutine at a time record what the host says.
	setting sync.Mutex
	// known is closed once the host has answered.
	known chan struct{}

	mu      sync.Mutex
	now     state
	changed func()
	// leading ends when the APIService no longer leads to this server.
	leading    context.Context
	endLeading context.CancelFunc
}

// state is the content of an APIService.
type state struct {
	// leadsHere is true if it leads to this server.
	leadsHere bool
	// held says why no controller may run; nil if they may.
	held error
	// isUnregistered is true if there is no APIService, or it is not known yet.
	isUnregistered bool
}

// New returns a Registration. The caller must call Run.
func New(host *rest.Config, config Config) (*Registration, error) {
	client, err := dynamic.NewForConfig(host)
	if err != nil {
		return nil, fmt.Errorf("create a client for the APIService: %w", err)
	}
	return newRegistration(client, config), nil
}

func newRegistration(client dynamic.Interface, config Config) *Registration {
	r := &Registration{
		config: config, client: client, known: make(chan struct{}), changed: func() {},
		now: state{held: errors.New("the server has not read the APIService yet"), isUnregistered: true},
	}
	r.leading, r.endLeading = context.WithCancel(context.Background())
	return r
}

// Held returns why no controller of this process may run; nil if they may.
func (r *Registration) Held() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now.held
}

// Leading returns a context that ends when the APIService no longer leads to this server.
func (r *Registration) Leading() context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leading
}

// WaitUntilKnown waits until the host has said for the first time where the APIService leads to. It reports whether
// that is known: ctx may end before.
func (r *Registration) WaitUntilKnown(ctx context.Context) bool {
	select {
	case <-r.known:
		return true
	case <-ctx.Done():
		return false
	}
}

// OnChange sets the function that is called when the answer of Held has changed.
func (r *Registration) OnChange(changed func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = changed
}

// Run follows the APIService, and the definitions by which the host may serve the same API, until ctx ends.
func (r *Registration) Run(ctx context.Context) error {
	services := r.named(apiServices(), r.config.APIService)
	followed := []cache.SharedIndexInformer{services}
	definitions := map[string]cache.SharedIndexInformer{}
	for _, name := range Definitions() {
		definitions[name] = r.named(definitionResource(), name)
		followed = append(followed, definitions[name])
	}
	var synced []cache.DoneChecker
	look := func(any) {
		for _, of := range synced {
			if !isDone(of) {
				return
			}
		}
		r.set(ctx, func() state {
			var found []*unstructured.Unstructured
			for name, informer := range definitions {
				if of := get(informer, name); of != nil {
					found = append(found, of)
				}
			}
			return r.config.read(get(services, r.config.APIService), found...)
		})
	}
	var running sync.WaitGroup
	defer running.Wait()
	for _, informer := range followed {
		if err := informer.SetWatchErrorHandlerWithContext(r.failed); err != nil {
			return fmt.Errorf("watch the APIService %s: %w", r.config.APIService, err)
		}
		synced = append(synced, informer.HasSyncedChecker())
	}
	for _, informer := range followed {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: look, UpdateFunc: func(_, now any) { look(now) }, DeleteFunc: look,
		})
		if err != nil {
			return fmt.Errorf("watch the APIService %s: %w", r.config.APIService, err)
		}
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	if cache.WaitFor(ctx, "the APIService", synced...) {
		look(nil)
	}
	<-ctx.Done()
	return nil
}

// named returns an informer of one object.
func (r *Registration) named(resource schema.GroupVersionResource, name string) cache.SharedIndexInformer {
	return dynamicinformer.NewFilteredDynamicInformer(r.client, resource, metav1.NamespaceAll, 0, cache.Indexers{},
		func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}).Informer()
}

// get returns the object that an informer has; nil if it has none.
func get(informer cache.SharedIndexInformer, name string) *unstructured.Unstructured {
	found, exists, err := informer.GetStore().GetByKey(name)
	if err != nil || !exists {
		return nil
	}
	return found.(*unstructured.Unstructured)
}

func isDone(of cache.DoneChecker) bool {
	select {
	case <-of.Done():
		return true
	default:
		return false
	}
}

// failed records that the host refuses to answer. Its earlier answers still count.
func (r *Registration) failed(ctx context.Context, reflector *cache.Reflector, err error) {
	cache.DefaultWatchErrorHandler(ctx, reflector, err)
	select {
	case <-r.known:
	default:
		if apierrors.IsForbidden(err) {
			r.set(ctx, func() state {
				return state{held: fmt.Errorf("the server needs permission to get, list and watch the APIService %s and "+
					"CustomResourceDefinitions, which determine whether it runs controllers: %w", r.config.APIService, err)}
			})
		}
	}
}

// set records the state of the registration at the host.
func (r *Registration) set(ctx context.Context, read func() state) {
	r.setting.Lock()
	defer r.setting.Unlock()
	now := read()
	r.mu.Lock()
	before, changed := r.now, r.changed
	r.now = now
	if before.leadsHere && !now.leadsHere {
		r.endLeading()
		r.leading, r.endLeading = context.WithCancel(context.Background())
	}
	r.mu.Unlock()
	select {
	case <-r.known:
		if text(before.held) == text(now.held) {
			return
		}
	default:
		close(r.known)
	}
	switch {
	case before.isUnregistered && (now.isUnregistered || now.held == nil):
		// A server is registered after its first start: there is nothing to say.
	case now.held != nil:
		klog.FromContext(ctx).Error(now.held, "Controllers are held")
	default:
		klog.FromContext(ctx).Info("Controllers may run", "apiService", r.config.APIService)
	}
	changed()
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// read returns the state that follows from an APIService and the existing definitions. There is no APIService if found
// is nil.
func (c Config) read(found *unstructured.Unstructured, definitions ...*unstructured.Unstructured) state {
	if found == nil {
		return state{held: fmt.Errorf("APIService %s does not exist, so this server runs no controllers", c.APIService),
			isUnregistered: true}
	}
	namespace, _, _ := unstructured.NestedString(found.Object, "spec", "service", "namespace")
	name, _, _ := unstructured.NestedString(found.Object, "spec", "service", "name")
	switch {
	case name == "":
		return state{held: fmt.Errorf("APIService %s is for CustomResourceDefinitions, not for this server, so this "+
			"server runs no controllers", c.APIService)}
	case namespace != c.Namespace || name != c.Service:
		return state{held: fmt.Errorf("APIService %s leads to the Service %s/%s, not to %s/%s of this server "+
			"(--service-namespace, --service-name), so this server runs no controllers",
			c.APIService, namespace, name, c.Namespace, c.Service)}
	}
	if why := found.GetAnnotations()[v1alpha1.HoldAnnotation]; why != "" && why != "false" {
		return state{leadsHere: true, held: fmt.Errorf(
			"APIService %s has the annotation %s: %q; remove it to run the controllers",
			c.APIService, v1alpha1.HoldAnnotation, why)}
	}
	for _, of := range definitions {
		if HidesObjects(found, of) {
			return state{leadsHere: true, held: fmt.Errorf("the server was installed over Metacontroller's "+
				"CustomResourceDefinition %s, whose objects still exist: run `metacontroller-apiserver migrate switch` to "+
				"move them, or `metacontroller-apiserver migrate back` to serve Metacontroller's API again", of.GetName())}
		}
	}
	return state{leadsHere: true}
}

func apiServices() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
}

// Definitions returns the names of Metacontroller's CustomResourceDefinitions.
func Definitions() []string {
	return []string{"compositecontrollers." + v1alpha1.GroupName, "controllerrevisions." + v1alpha1.GroupName,
		"decoratorcontrollers." + v1alpha1.GroupName}
}

func definitionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// HidesObjects reports whether an APIService that leads to a server hides the objects of a definition: the definition
// was there first and serves the same version, and its objects were not moved. A definition that is created
// later does not stop the controllers.
func HidesObjects(service, definition *unstructured.Unstructured) bool {
	if service.GetAnnotations()[v1alpha1.MovedAnnotation] == "true" {
		return false
	}
	made, registered := definition.GetCreationTimestamp(), service.GetCreationTimestamp()
	return Serves(definition, v1alpha1.SchemeGroupVersion.Version) && !registered.Before(&made)
}

// Serves reports whether a definition serves a version.
func Serves(definition *unstructured.Unstructured, name string) bool {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, item := range versions {
		if version, ok := item.(map[string]any); ok && version["name"] == name && version["served"] == true {
			return true
		}
	}
	return false
}
