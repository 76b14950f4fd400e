// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// documents are what was read out of the host's OpenAPI v3 documents.
type documents struct {
	mu        sync.Mutex
	byVersion map[schema.GroupVersion]*document
}

// document is what was read out of one document.
type document struct {
	// url names the document and its content.
	url string
	// isCurrent tells that the host publishes no newer one.
	isCurrent bool
	// types has an entry for each kind that was looked for in it, nil if it is not there.
	types map[schema.GroupVersionKind]*openapi.Type
}

// hasAll tells whether some kinds of a version can be had without asking the host. One
// of which nothing is known may be described by now.
func (d *documents) hasAll(version schema.GroupVersion, wanted []schema.GroupVersionKind) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	document := d.byVersion[version]
	return document != nil && document.isCurrent && !slices.ContainsFunc(wanted, func(kind schema.GroupVersionKind) bool {
		return document.types[kind] == nil
	})
}

// typeOf returns what is known of a kind, nil if nothing is.
func (d *documents) typeOf(kind schema.GroupVersionKind) *openapi.Type {
	d.mu.Lock()
	defer d.mu.Unlock()
	if document := d.byVersion[kind.GroupVersion()]; document != nil {
		return document.types[kind]
	}
	return nil
}

// setURL makes the document of a version the one that the host publishes at url. It
// returns the kinds that are still to be read out of it.
func (d *documents) setURL(version schema.GroupVersion, url string, sure bool, wanted []schema.GroupVersionKind) (missing []schema.GroupVersionKind) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byVersion[version] == nil || d.byVersion[version].url != url {
		d.byVersion[version] = &document{url: url, types: map[schema.GroupVersionKind]*openapi.Type{}}
	}
	document := d.byVersion[version]
	document.isCurrent = sure
	for _, kind := range wanted {
		if _, read := document.types[kind]; !read {
			missing = append(missing, kind)
		}
	}
	return missing
}

// add adds what was read out of the document at url.
func (d *documents) add(version schema.GroupVersion, url string, read map[schema.GroupVersionKind]*openapi.Type) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if document := d.byVersion[version]; document != nil && document.url == url {
		maps.Copy(document.types, read)
	}
}

// prune forgets the documents that are no longer published.
func (d *documents) prune(urls map[schema.GroupVersion]string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.byVersion, func(version schema.GroupVersion, _ *document) bool {
		_, published := urls[version]
		return !published
	})
}

// markStale has the host asked whether it publishes a newer document before what is known
// of a group is used again.
func (d *documents) markStale(group string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for version, document := range d.byVersion {
		if version.Group == group {
			document.isCurrent = false
		}
	}
}
