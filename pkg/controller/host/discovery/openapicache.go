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

// documents has what was read from the OpenAPI v3 documents of the host.
type documents struct {
	mu        sync.Mutex
	byVersion map[schema.GroupVersion]*document
}

// document has what was read from the document of one version.
type document struct {
	// url has a hash of the document's content: another content has another URL.
	url string
	// isCurrent is true while the host is not expected to publish a newer document.
	isCurrent bool
	// types has an entry for each kind that was read, nil if the document does not describe it.
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

// setURL records that the host publishes the document of a version at url. If that is another URL
// than before, it forgets what was read. It returns which of the wanted kinds must still be read.
func (d *documents) setURL(version schema.GroupVersion, url string, isCurrent bool, wanted []schema.GroupVersionKind) (missing []schema.GroupVersionKind) {
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

// add adds what was read from the document at url. It does nothing if the version now has another
// document.
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
