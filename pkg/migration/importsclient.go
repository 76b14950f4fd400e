// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"

	migration "github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration/v1alpha1"
)

const importsResource = "imports"

// importsClient imports objects into the storage of the server.
type importsClient struct {
	rest       rest.Interface
	parameters runtime.ParameterCodec
}

func newImportsClient(host *rest.Config) (*importsClient, error) {
	scheme := runtime.NewScheme()
	if err := migration.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(host)
	version := migration.SchemeGroupVersion
	config.GroupVersion, config.APIPath = &version, "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.WarningHandlerWithContext = warningsOf{}
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return &importsClient{rest: client, parameters: runtime.NewParameterCodec(scheme)}, nil
}

// ping returns nil if the server answers.
func (c *importsClient) ping(ctx context.Context) error {
	return c.rest.Get().Resource(importsResource).VersionedParams(&metav1.ListOptions{Limit: 1}, c.parameters).Do(ctx).Error()
}

// create imports an object. It returns what the server warns of.
func (c *importsClient) create(ctx context.Context, object *unstructured.Unstructured, spec migration.ImportSpec, dryRun bool) (*migration.Import, []string, error) {
	encoded, err := object.MarshalJSON()
	if err != nil {
		return nil, nil, err
	}
	spec.Object = runtime.RawExtension{Raw: encoded}
	options := metav1.CreateOptions{}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	ctx, warnings := recordWarnings(ctx)
	answer := &migration.Import{}
	err = c.rest.Post().Resource(importsResource).VersionedParams(&options, c.parameters).
		Body(&migration.Import{ObjectMeta: metav1.ObjectMeta{Name: string(object.GetUID())}, Spec: spec}).Do(ctx).Into(answer)
	return answer, warnings(), err
}

// list visits all Imports, in pages.
func (c *importsClient) list(ctx context.Context, visit func(*migration.Import)) error {
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		page := &migration.ImportList{}
		return page, c.rest.Get().Resource(importsResource).VersionedParams(&options, c.parameters).Do(ctx).Into(page)
	})
	return pages.EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
		visit(item.(*migration.Import))
		return nil
	})
}

// forget has the server forget from where objects came.
func (c *importsClient) forget(ctx context.Context) error {
	return c.rest.Delete().Resource(importsResource).Do(ctx).Error()
}

// warningsOf hands warnings to the request that they are about.
type warningsOf struct{}

type warningsKey struct{}

type recordedWarnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (warningsOf) HandleWarningHeaderWithContext(ctx context.Context, _ int, _ string, text string) {
	if recorded, ok := ctx.Value(warningsKey{}).(*recordedWarnings); ok {
		recorded.mu.Lock()
		defer recorded.mu.Unlock()
		recorded.texts = append(recorded.texts, text)
	}
}

// recordWarnings returns a context for a request, and a function that returns what it was warned of.
func recordWarnings(ctx context.Context) (context.Context, func() []string) {
	recorded := &recordedWarnings{}
	return context.WithValue(ctx, warningsKey{}, recorded), func() []string {
		recorded.mu.Lock()
		defer recorded.mu.Unlock()
		return recorded.texts
	}
}
