// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

const (
	// schemasTimeout bounds the wait for the documents of the host.
	schemasTimeout = 15 * time.Second
	// schemasSettleTime is the time after a change of the definition of a type for which the host may still publish
	// the old document. It is longer than SettleTime, because the host publishes types later than it serves them.
	schemasSettleTime = 20 * time.Second
)

// Schemas returns the parts of the schemas of types that merging needs, from the OpenAPI v3 documents of the host. A
// type that the host does not describe has no entry. A type whose document cannot be read has no entry either, and the
// error says why. Stable is true if the host is not expected to publish other documents soon.
//
// Schemas keeps the schemas until a definition in the API group of the type changes. It does not read a document again
// that has not changed.
func (d *Discovery) Schemas(
	ctx context.Context, types []object.Type,
) (known map[object.Type]*openapi.Type, stable bool, err error) {
	wanted := map[schema.GroupVersion][]schema.GroupVersionKind{}
	for _, of := range types {
		wanted[of.GroupVersion()] = append(wanted[of.GroupVersion()], of.GroupVersionKind())
	}
	ctx, cancel := context.WithTimeout(ctx, schemasTimeout)
	defer cancel()
	var errs []error
	stable = true
	for version, wanted := range wanted {
		if d.documents.hasAll(version, wanted) {
			continue
		}
		index, err := d.readIndex(ctx)
		if err != nil {
			return d.knownSchemas(types), false, fmt.Errorf("read the index of the OpenAPI documents: %w", err)
		}
		isCurrent := d.areDocumentsCurrent(version.Group, index.requestedAt)
		missing := d.documents.setURL(version, index.urls[version], isCurrent, wanted)
		if err := d.readDocument(ctx, version, index.urls[version], missing); err != nil {
			errs = append(errs, fmt.Errorf("read the OpenAPI document of %s: %w", version, err))
		}
		stable = stable && isCurrent
	}
	return d.knownSchemas(types), stable && len(errs) == 0, errors.Join(errs...)
}

// knownSchemas returns the schemas of types that have been read.
func (d *Discovery) knownSchemas(types []object.Type) map[object.Type]*openapi.Type {
	known := make(map[object.Type]*openapi.Type, len(types))
	for _, of := range types {
		if found := d.documents.typeOf(of.GroupVersionKind()); found != nil {
			known[of] = found
		}
	}
	return known
}

// readDocument reads some kinds from the document of a version. Without a URL there is no document.
func (d *Discovery) readDocument(
	ctx context.Context, version schema.GroupVersion, url string, kinds []schema.GroupVersionKind,
) error {
	if url == "" || len(kinds) == 0 {
		return nil
	}
	body, err := d.get(ctx, url)
	if err != nil {
		return err
	}
	read, err := openapi.Read(body, goType, kinds...)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		if _, described := read[kind]; !described {
			read[kind] = nil // known to be missing
		}
	}
	d.documents.add(version, url, read)
	return nil
}

// get reads from the host at a relative URL.
func (d *Discovery) get(ctx context.Context, relative string) ([]byte, error) {
	parsed, err := url.Parse(relative)
	if err != nil {
		return nil, err
	}
	return d.client.Get(ctx, parsed.Path, parsed.Query())
}

// goType returns the Go type of a kind that is built into Kubernetes, nil for others.
func goType(kind schema.GroupVersionKind) reflect.Type {
	return scheme.Scheme.KnownTypes(kind.GroupVersion())[kind.Kind]
}

// indexMaxAge is the time for which an index is reused.
const indexMaxAge = time.Second

// documentIndex has the URL of the OpenAPI v3 document of each version.
type documentIndex struct {
	urls        map[schema.GroupVersion]string
	requestedAt time.Time
}

// indexCache has the index that was read last.
type indexCache struct {
	mu sync.Mutex
	documentIndex
}

// readIndex returns the index of the host's documents. The index is empty if the host has no OpenAPI v3 or forbids
// reading it.
func (d *Discovery) readIndex(ctx context.Context) (documentIndex, error) {
	d.index.mu.Lock()
	defer d.index.mu.Unlock()
	now := time.Now()
	if now.Sub(d.index.requestedAt) < indexMaxAge {
		return d.index.documentIndex, nil
	}
	urls := map[schema.GroupVersion]string{}
	body, err := d.get(ctx, "/openapi/v3")
	if err == nil {
		urls, err = parseIndex(body)
	} else if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		err = nil
	}
	if err != nil {
		return documentIndex{}, err
	}
	d.documents.prune(urls)
	d.index.documentIndex = documentIndex{urls: urls, requestedAt: now}
	return d.index.documentIndex, nil
}

func parseIndex(body []byte) (map[schema.GroupVersion]string, error) {
	var index struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(body, &index); err != nil {
		return nil, err
	}
	urls := map[schema.GroupVersion]string{}
	for path, published := range index.Paths {
		switch segments := strings.Split(path, "/"); {
		case len(segments) == 2 && segments[0] == "api":
			urls[schema.GroupVersion{Version: segments[1]}] = published.ServerRelativeURL
		case len(segments) == 3 && segments[0] == "apis":
			urls[schema.GroupVersion{Group: segments[1], Version: segments[2]}] = published.ServerRelativeURL
		}
	}
	return urls, nil
}

// documents has the schemas from the OpenAPI v3 documents of the host.
type documents struct {
	mu        sync.Mutex
	byVersion map[schema.GroupVersion]*document
}

// document has the schemas from the document of one version.
type document struct {
	// url has a hash of the document's content, so it changes with the content.
	url string
	// isCurrent is true while the host is not expected to publish a newer document.
	isCurrent bool
	// types has an entry for each kind that was read; the entry is nil if the document does not describe the kind.
	types map[schema.GroupVersionKind]*openapi.Type
}

// hasAll reports whether the kinds of a version are known and current. A kind that its document did
// not describe is not known: the host may have added it since.
func (d *documents) hasAll(version schema.GroupVersion, wanted []schema.GroupVersionKind) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	document := d.byVersion[version]
	return document != nil && document.isCurrent && !slices.ContainsFunc(wanted, func(kind schema.GroupVersionKind) bool {
		return document.types[kind] == nil
	})
}

// typeOf returns the type of a kind, nil if it is not known.
func (d *documents) typeOf(kind schema.GroupVersionKind) *openapi.Type {
	d.mu.Lock()
	defer d.mu.Unlock()
	if document := d.byVersion[kind.GroupVersion()]; document != nil {
		return document.types[kind]
	}
	return nil
}

// setURL records that the host publishes the document of a version at url. If the URL has changed, it forgets what was
// read. It returns which of the wanted kinds must still be read.
func (d *documents) setURL(
	version schema.GroupVersion, url string, isCurrent bool, wanted []schema.GroupVersionKind,
) (missing []schema.GroupVersionKind) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byVersion[version] == nil || d.byVersion[version].url != url {
		d.byVersion[version] = &document{url: url, types: map[schema.GroupVersionKind]*openapi.Type{}}
	}
	document := d.byVersion[version]
	document.isCurrent = isCurrent
	for _, kind := range wanted {
		if _, read := document.types[kind]; !read {
			missing = append(missing, kind)
		}
	}
	return missing
}

// add adds the schemas from the document at url. It does nothing if the version now has another document.
func (d *documents) add(version schema.GroupVersion, url string, read map[schema.GroupVersionKind]*openapi.Type) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if document := d.byVersion[version]; document != nil && document.url == url {
		maps.Copy(document.types, read)
	}
}

// prune forgets the documents that the host no longer publishes.
func (d *documents) prune(urls map[schema.GroupVersion]string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.byVersion, func(version schema.GroupVersion, _ *document) bool {
		_, published := urls[version]
		return !published
	})
}

// markStale makes Schemas ask the host for newer documents of a group before it uses the known
// ones.
func (d *documents) markStale(group string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for version, document := range d.byVersion {
		if version.Group == group {
			document.isCurrent = false
		}
	}
}
