// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
)

type floor struct {
	settings
	client  rest.Interface
	hooks   *http.Client
	known   known
	queue   workqueue.TypedInterface[string]
	writing *semaphore.Weighted // of all syncs together
}

func newFloor(client rest.Interface, s settings) *floor {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = s.workers
	transport.WriteBufferSize, transport.ReadBufferSize = 32<<10, 16<<10
	return &floor{
		settings: s,
		client:   client,
		hooks:    &http.Client{Transport: transport},
		known:    known{sites: map[string]*knownSite{}},
		queue:    workqueue.NewTyped[string](),
		writing:  semaphore.NewWeighted(int64(s.writers)),
	}
}

// run works until ctx ends or something fails.
func (f *floor) run(ctx context.Context) error {
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error {
		return watch(running, f.client, site.PagesPath, func(seen *object.Object, gone bool) {
			if siteOf(seen) != "" && f.known.pageSeen(seen, gone) {
				f.queue.Add(siteOf(seen))
			}
		})
	})
	group.Go(func() error {
		return watch(running, f.client, site.SitesPath, func(seen *object.Object, gone bool) {
			f.known.siteSeen(seen, gone)
			f.queue.Add(seen.Name)
		})
	})
	for range f.workers {
		group.Go(func() error { return f.work(running) })
	}
	<-running.Done()
	f.queue.ShutDown()
	if err := group.Wait(); ctx.Err() == nil {
		return err
	}
	return nil // what fails because it shall end does not matter
}

func (f *floor) work(ctx context.Context) error {
	for {
		name, over := f.queue.Get()
		if over {
			return nil
		}
		err := f.sync(ctx, name)
		f.queue.Done(name)
		if err != nil {
			return fmt.Errorf("sync the site %s: %w", name, err)
		}
	}
}

func (f *floor) sync(ctx context.Context, name string) error {
	body, about := f.known.request(name)
	if about.site == nil {
		return nil
	}
	pages, err := f.ask(ctx, body)
	if err != nil {
		return err
	}
	var parent site.Site
	if err := json.Unmarshal(about.site.JSON(), &parent); err != nil {
		return err
	}
	if about.written == parent.Generation {
		return nil
	}
	f.known.begin(name, parent.Generation)
	versions := make([]string, len(pages))
	var group errgroup.Group
	group.SetLimit(f.writersPerSync)
	for i, page := range pages {
		group.Go(func() error {
			if err := f.writing.Acquire(ctx, 1); err != nil {
				return err
			}
			defer f.writing.Release(1)
			var err error
			versions[i], err = f.write(ctx, page, &parent, about.pages)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := f.writeStatus(ctx, &parent); err != nil {
		return err
	}
	if f.known.end(name, versions) {
		f.queue.Add(name)
	}
	return nil
}

func (f *floor) ask(ctx context.Context, body []byte) ([]json.RawMessage, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.hook, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := f.hooks.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer of the hook: %w", err)
	}
	var answer struct{ Children []json.RawMessage }
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("read the answer of the hook: %w", err)
	}
	return answer.Children, nil
}

// write writes a page with all that our server writes, the record of what is applied among it, and returns its version.
func (f *floor) write(ctx context.Context, desired json.RawMessage, of *site.Site, there map[string]*object.Object) (string, error) {
	var page corev1.ConfigMap
	if err := json.Unmarshal(desired, &page); err != nil {
		return "", err
	}
	page.Annotations = map[string]string{object.LastAppliedAnnotation: string(desired)}
	page.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(of, site.GroupVersion.WithKind(site.Kind))}
	request := f.client.Post().AbsPath(site.PagesPath)
	if there[page.Name] != nil {
		request = f.client.Put().AbsPath(site.PagesPath, page.Name)
	}
	answer, err := send(ctx, request, &page)
	if err != nil {
		return "", err
	}
	written, err := object.Parse(answer)
	if err != nil {
		return "", err
	}
	return written.ResourceVersion, nil
}

// writeStatus says which generation was seen to, as our server does. A site that was edited since is seen to again.
func (f *floor) writeStatus(ctx context.Context, of *site.Site) error {
	of.Status.ObservedGeneration = of.Generation
	_, err := send(ctx, f.client.Put().AbsPath(site.SitesPath, of.Name, "status"), of)
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func send(ctx context.Context, request *rest.Request, object any) ([]byte, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return request.SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").Body(body).DoRaw(ctx)
}
