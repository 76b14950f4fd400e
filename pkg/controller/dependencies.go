// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/leader"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/rows"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/calllog"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/writeloop"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions/store"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/tracing"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// clients are the clients of the two API servers that the controllers use.
type clients struct {
	// hostConfig is the configuration of host, for clients of other kinds.
	hostConfig *rest.Config
	host       *host.Client
	// own is the client of this process's API server.
	own versioned.Interface
}

func newClients(config Config, term *leader.Term) (*clients, error) {
	hostConfig := rest.AddUserAgent(rest.CopyConfig(config.Host), "controllers")
	hostConfig.UserAgent = host.FieldManager + "/" + hostConfig.UserAgent
	config.Client.applyTo(hostConfig)
	if config.Tracing != nil {
		hostConfig.Wrap(tracing.Transport)
	}
	host.NameAuthors(hostConfig)
	guardWrites(hostConfig, term)
	client, err := host.NewClient(hostConfig, config.ApplyFieldManager)
	if err != nil {
		return nil, err
	}
	loopback := rest.CopyConfig(config.Loopback)
	host.NameAuthors(loopback)
	guardWrites(loopback, term)
	own, err := versioned.NewForConfig(loopback)
	if err != nil {
		return nil, fmt.Errorf("create a client for this server's API: %w", err)
	}
	return &clients{hostConfig: hostConfig, host: client, own: own}, nil
}

// guardWrites makes a client wait for the responses to its writes, and write only while this process leads.
func guardWrites(client *rest.Config, term *leader.Term) {
	client.Wrap(func(inner http.RoundTripper) http.RoundTripper { return host.CompleteWrites(term.Context(), inner) })
	client.Wrap(term.Transport)
}

// newDependencies creates the parts that the parent controllers share. It outlives ctx, and ends with release, which
// the caller calls after the last controller has stopped. groupChanged is called with the name of each API group of the
// host whose types may have changed.
func newDependencies(
	ctx context.Context, config Config, clients *clients, term *leader.Term, groupChanged func(group string),
) (_ parentcontroller.Dependencies, release func(), err error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	made := []func(){cancel}
	undo := func() {
		for _, last := range slices.Backward(made) {
			last()
		}
	}
	defer func() {
		if err != nil {
			undo()
		}
	}()
	events, err := report.NewEvents(ctx, clients.hostConfig, scheme.Scheme, config.Events)
	if err != nil {
		return parentcontroller.Dependencies{}, nil, err
	}
	made = append(made, events.Shutdown)
	calls := hook.NewMetrics()
	if err := config.Metrics.Register(calls); err != nil {
		return parentcontroller.Dependencies{}, nil, fmt.Errorf("metrics of hooks: %w", err)
	}
	made = append(made, func() { config.Metrics.Unregister(calls) })
	reviews, err := newReviews(clients.hostConfig)
	if err != nil {
		return parentcontroller.Dependencies{}, nil, err
	}
	stored, err := store.New(clients.own, newInformers(clients.own, labels.Everything()))
	if err != nil {
		return parentcontroller.Dependencies{}, nil, err
	}
	kept := calllog.New(time.Now())
	stopForgetting, err := forgetNamespaces(config.Namespaces, kept)
	if err != nil {
		return parentcontroller.Dependencies{}, nil, err
	}
	made = append(made, stopForgetting)
	objects := cache.NewInformers(ctx, clients.host, informerLinger)
	made = append(made, objects.Shutdown)
	return parentcontroller.Dependencies{
		Settings:    config.Settings,
		Informers:   objects,
		Discovery:   discovery.New(clients.host, groupChanged),
		Permissions: permissions.New(reviews),
		Actor: &act.Actor{
			Writer: host.NewWriter(clients.host, config.ParallelWrites), Parallel: config.ParallelWritesPerSync,
		},
		Events: events,
		Hook: hook.Options{
			Limits: config.Hooks, MaxIdleConnections: config.Workers,
			Budget:  hook.NewBudget(config.Hooks.MaxBytesInFlight),
			Metrics: calls, MayCall: term.Check, Sources: objects, DeveloperMode: config.DeveloperMode,
		},
		WriteLoops:        writeloop.NewRegistry(),
		Engine:            config.ApplyStrategy.engine(),
		Metrics:           config.Metrics,
		Tracer:            tracing.New(config.Tracing),
		Syncs:             &rows.Syncs{},
		Calls:             kept,
		Revisions:         stored,
		RevisionNamespace: config.Namespace,
	}, undo, nil
}

// forgetNamespaces drops the calls of hooks that show objects in a namespace when the namespace is deleted, until stop
// is called. The informer may be nil.
func forgetNamespaces(namespaces clientcache.SharedInformer, calls *calllog.Log) (stop func(), err error) {
	if namespaces == nil {
		return func() {}, nil
	}
	forget := func(obj any) {
		if name, err := clientcache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
			calls.ForgetNamespace(name, time.Now())
		}
	}
	added, err := namespaces.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
		// the informer may have missed that a namespace was deleted and created again
		UpdateFunc: func(before, after any) {
			if before.(*corev1.Namespace).UID != after.(*corev1.Namespace).UID {
				forget(before)
			}
		},
		DeleteFunc: forget,
	})
	if err != nil {
		return nil, fmt.Errorf("watch the deletion of namespaces: %w", err)
	}
	return func() { _ = namespaces.RemoveEventHandler(added) }, nil
}

// newReviews creates a client for access reviews of service accounts at the host. Permissions bound the number of its
// requests.
func newReviews(hostConfig *rest.Config) (rights.Reviews, error) {
	config := rest.CopyConfig(hostConfig)
	config.QPS = -1
	client, err := authorizationv1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for access reviews: %w", err)
	}
	return client.SubjectAccessReviews(), nil
}

// newInformers creates informers of the objects of the server's own API that a selector selects. They keep the objects
// without managedFields.
func newInformers(own versioned.Interface, selector labels.Selector) externalversions.SharedInformerFactory {
	return externalversions.NewSharedInformerFactoryWithOptions(own, 0,
		externalversions.WithTransform(withoutManagedFields),
		externalversions.WithTweakListOptions(func(options *metav1.ListOptions) {
			options.LabelSelector = selector.String()
			if options.ResourceVersion == cachedVersion {
				options.ResourceVersion = ""
			}
		}))
}

// cachedVersion is the resource version with which a reflector lists first, if the server does not
// stream lists. The server may then answer from its watch cache, and a new leader would not see the
// last writes of the one before it.
const cachedVersion = "0"

// withoutManagedFields drops managedFields, which the controllers do not read. An update without
// them leaves the stored ones as they are.
func withoutManagedFields(obj any) (any, error) {
	if object, ok := obj.(metav1.Object); ok {
		object.SetManagedFields(nil)
	}
	return obj, nil
}
