// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
)

// pages is what can be seen of all pages: what a user would look at.
type pages struct {
	mu      sync.Mutex
	values  map[string]string // by name
	with    map[string]int    // how many have a value
	fronts  map[string]string // of the first pages, by name
	at      time.Time         // of the last change
	changed chan struct{}     // closed at the next change
}

// watchPages watches until ctx ends.
func watchPages(ctx context.Context, client kubernetes.Interface) (*pages, error) {
	p := &pages{values: map[string]string{}, with: map[string]int{}, fronts: map[string]string{}, changed: make(chan struct{})}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(site.Namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = site.Label }),
		informers.WithTransform(func(object any) (any, error) {
			if page, is := object.(*corev1.ConfigMap); is {
				delete(page.Data, "text")
				page.Annotations, page.ManagedFields = nil, nil
			}
			return object, nil
		}))
	informer := factory.Core().V1().ConfigMaps().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { p.see(object.(*corev1.ConfigMap)) },
		UpdateFunc: func(_, object any) { p.see(object.(*corev1.ConfigMap)) },
		DeleteFunc: func(object any) {
			if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
				p.gone(key.Name)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, fmt.Errorf("watch the pages: %w", context.Cause(ctx))
	}
	return p, nil
}

func (p *pages) see(page *corev1.ConfigMap) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old, there := p.values[page.Name]; there {
		p.with[old]--
	}
	p.values[page.Name] = page.Data[site.ValueKey]
	p.with[page.Data[site.ValueKey]]++
	if front, first := page.Data[site.FrontKey]; first {
		p.fronts[page.Name] = front
	}
	p.news()
}

func (p *pages) gone(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.with[p.values[name]]--
	delete(p.values, name)
	delete(p.fronts, name)
	p.news()
}

func (p *pages) news() {
	p.at = time.Now()
	close(p.changed)
	p.changed = make(chan struct{})
}

// wait waits until the pages are as they should be. Met is called with the lock held.
func (p *pages) wait(ctx context.Context, met func(*pages) bool) error {
	_, err := p.when(ctx, met)
	return err
}

// when is wait and tells when the change came that it was waited for.
func (p *pages) when(ctx context.Context, met func(*pages) bool) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("the pages are not as they should be"))
	defer cancel()
	for {
		p.mu.Lock()
		at, is, changed := p.at, met(p), p.changed
		p.mu.Unlock()
		if is {
			return at, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			p.mu.Lock()
			defer p.mu.Unlock()
			return at, fmt.Errorf("%w within %s; there are %d", context.Cause(ctx), patience, len(p.values))
		}
	}
}

// have tells whether so many pages have a value.
func have(count int, value string) func(*pages) bool {
	return func(seen *pages) bool { return seen.with[value] == count }
}
