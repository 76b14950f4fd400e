// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
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
	writing chan struct{}
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
		writing:  make(chan struct{}, s.writers),
	}
}

// run works until ctx ends or something fails.
func (f *floor) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	start := func(work func() error) {
		group.Go(func() {
			if err := work(); err != nil {
				cancel(err)
			}
		})
	}
	start(func() error {
		return watch(ctx, f.client, fmt.Sprintf(pagesPath, site.Namespace), func(seen *object.Object, gone bool) {
			if siteOf(seen) != "" && f.known.pageSeen(seen, gone) {
				f.queue.Add(siteOf(seen))
			}
		})
	})
	start(func() error {
		return watch(ctx, f.client, fmt.Sprintf(sitesPath, site.Namespace), func(seen *object.Object, gone bool) {
			f.known.siteSeen(seen, gone)
			f.queue.Add(seen.Name)
		})
	})
	for range f.workers {
		start(func() error { return f.work(ctx) })
	}
	<-ctx.Done()
	f.queue.ShutDown()
	group.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
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
	errs, versions := make([]error, len(pages)), make([]string, len(pages))
	slots := make(chan struct{}, f.writersPerSync)
	var group sync.WaitGroup
	for i, page := range pages {
		slots <- struct{}{}
		f.writing <- struct{}{}
		group.Go(func() {
			versions[i], errs[i] = f.write(ctx, page, &parent, about.pages)
			<-f.writing
			<-slots
		})
	}
	group.Wait()
	if err := errors.Join(append(errs, f.writeStatus(ctx, &parent))...); err != nil {
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
	request := f.client.Post().AbsPath(fmt.Sprintf(pagesPath, site.Namespace))
	if there[page.Name] != nil {
		request = f.client.Put().AbsPath(fmt.Sprintf(pagesPath, site.Namespace), page.Name)
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

// writeStatus says which generation was seen to, as our server does.
func (f *floor) writeStatus(ctx context.Context, of *site.Site) error {
	of.Status.ObservedGeneration = of.Generation
	_, err := send(ctx, f.client.Put().AbsPath(fmt.Sprintf(sitesPath, site.Namespace), of.Name, "status"), of)
	return err
}

func send(ctx context.Context, request *rest.Request, object any) ([]byte, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return request.SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").Body(body).DoRaw(ctx)
}
