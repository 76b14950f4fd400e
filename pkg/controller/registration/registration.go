// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

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

// Config says which registration is followed.
type Config struct {
	// APIService is the name of the APIService.
	APIService string
	// Namespace and Service name the Service that leads to this server.
	Namespace, Service string
}

// Registration is what this process knows of its registration. If the host cannot be asked, what it said last holds.
type Registration struct {
	config Config
	client dynamic.Interface
	// known is closed once the host has answered.
	known chan struct{}

	mu      sync.Mutex
	now     state
	changed func()
	// leading ends when the APIService no longer leads to this server.
	leading    context.Context
	endLeading context.CancelFunc
}

// state is what an APIService says.
type state struct {
	// leadsHere is true if it leads to this server.
	leadsHere bool
	// held is why no controller may run; nil if they may.
	held error
	// isUnregistered is true if there is no APIService, or it is not known yet.
	isUnregistered bool
}

// New returns a Registration that has to be run.
func New(host *rest.Config, config Config) (*Registration, error) {
	client, err := dynamic.NewForConfig(host)
	if err != nil {
		return nil, fmt.Errorf("make a client for the APIService: %w", err)
	}
	return newRegistration(client, config), nil
}

func newRegistration(client dynamic.Interface, config Config) *Registration {
	r := &Registration{
		config: config, client: client, known: make(chan struct{}), changed: func() {},
		now: state{held: errors.New("it is not known yet where the APIService leads to"), isUnregistered: true},
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

// Leading returns a context that ends when the APIService leads to this server no longer.
func (r *Registration) Leading() context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leading
}

// WaitUntilKnown waits until the host has said for the first time where the APIService leads to. It reports whether that is
// known: ctx may end before.
func (r *Registration) WaitUntilKnown(ctx context.Context) bool {
	select {
	case <-r.known:
		return true
	case <-ctx.Done():
		return false
	}
}

// OnChange has a function called when the answer of Held has changed, instead of the one before.
func (r *Registration) OnChange(changed func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = changed
}

// Run follows the APIService until ctx ends.
func (r *Registration) Run(ctx context.Context) error {
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(r.client, 0, metav1.NamespaceAll, func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, r.config.APIService).String()
	})
	informer := factory.ForResource(apiServices()).Informer()
	if err := informer.SetWatchErrorHandlerWithContext(r.failed); err != nil {
		return fmt.Errorf("follow the APIService %s: %w", r.config.APIService, err)
	}
	registered, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(found any) { r.set(ctx, r.config.read(found.(*unstructured.Unstructured))) },
		UpdateFunc: func(_, found any) { r.set(ctx, r.config.read(found.(*unstructured.Unstructured))) },
		DeleteFunc: func(any) { r.set(ctx, r.config.read(nil)) },
	})
	if err != nil {
		return fmt.Errorf("follow the APIService %s: %w", r.config.APIService, err)
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	if cache.WaitFor(ctx, "the APIService", registered.HasSyncedChecker()) && len(informer.GetStore().ListKeys()) == 0 {
		r.set(ctx, r.config.read(nil))
	}
	<-ctx.Done()
	return nil
}

// failed notes that the host refuses to tell. What it has told before holds.
func (r *Registration) failed(ctx context.Context, reflector *cache.Reflector, err error) {
	cache.DefaultWatchErrorHandler(ctx, reflector, err)
	select {
	case <-r.known:
	default:
		if apierrors.IsForbidden(err) {
			r.set(ctx, state{held: fmt.Errorf("the server needs the right to get, list and watch the APIService %s, which says whether it is the one to act: %w", r.config.APIService, err)})
		}
	}
}

// set notes what the APIService says.
func (r *Registration) set(ctx context.Context, now state) {
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
		// A server is registered after its first start: there is nothing to tell.
	case now.held != nil:
		klog.FromContext(ctx).Info("Controllers are held", "because", now.held.Error())
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

// read returns what an APIService says. There is none if found is nil.
func (c Config) read(found *unstructured.Unstructured) state {
	if found == nil {
		return state{held: fmt.Errorf("there is no APIService %s, so this server is not the one to act", c.APIService), isUnregistered: true}
	}
	namespace, _, _ := unstructured.NestedString(found.Object, "spec", "service", "namespace")
	name, _, _ := unstructured.NestedString(found.Object, "spec", "service", "name")
	switch why := found.GetAnnotations()[v1alpha1.HoldAnnotation]; {
	case name == "":
		return state{held: fmt.Errorf("the APIService %s leads to CustomResourceDefinitions, not to this server, so another program acts", c.APIService)}
	case namespace != c.Namespace || name != c.Service:
		return state{held: fmt.Errorf("the APIService %s leads to the Service %s/%s, not to %s/%s of this server (--service-namespace, --service-name), so another program acts",
			c.APIService, namespace, name, c.Namespace, c.Service)}
	case why != "" && why != "false":
		return state{leadsHere: true, held: fmt.Errorf("the APIService %s has the annotation %s: %q; controllers run when it is removed", c.APIService, v1alpha1.HoldAnnotation, why)}
	}
	return state{leadsHere: true}
}

func apiServices() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
}
