// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"maps"
	"sync"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/test/bench/site"
)

// known is what the watches have seen.
type known struct {
	mu    sync.Mutex
	sites map[string]*knownSite
}

// knownSite is a site with its pages.
type knownSite struct {
	site  *object.Object // nil until it is seen
	pages map[string]*object.Object
	// written is the generation whose pages are written, and unseen are the resource versions that were not yet both
	// written and seen. While writing, not all that will be written is.
	written int64
	unseen  map[string]bool
	writing bool
}

func (k *known) of(name string) *knownSite {
	s := k.sites[name]
	if s == nil {
		s = &knownSite{pages: map[string]*object.Object{}, unseen: map[string]bool{}}
		k.sites[name] = s
	}
	return s
}

func (k *known) siteSeen(seen *object.Object, gone bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if gone {
		delete(k.sites, seen.Name)
		return
	}
	k.of(seen.Name).site = seen
}

// pageSeen tells whether this was the last page that was written and not yet seen.
func (k *known) pageSeen(seen *object.Object, gone bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.of(siteOf(seen))
	if gone {
		delete(s.pages, seen.Name)
		return false
	}
	s.pages[seen.Name] = seen
	s.note(seen.ResourceVersion)
	return len(s.unseen) == 0 && !s.writing
}

// note notes that a version was seen, or was written: whichever comes second ends the waiting for it.
func (s *knownSite) note(version string) {
	if s.unseen[version] {
		delete(s.unseen, version)
	} else {
		s.unseen[version] = true
	}
}

// begin notes that the pages of a generation are written.
func (k *known) begin(name string, generation int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.of(name).written, k.of(name).writing = generation, true
}

// end notes the versions that were written, and tells whether all of them were seen already.
func (k *known) end(name string, versions []string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.of(name)
	for _, version := range versions {
		s.note(version)
	}
	s.writing = false
	return len(s.unseen) == 0
}

// request is the body of the hook's request about a site, as our server puts it together, with what it is about.
func (k *known) request(name string) (body []byte, about knownSite) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.of(name)
	if s.site == nil {
		return nil, *s
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"parent":%s,"children":{"ConfigMap.v1":{`, s.site.JSON())
	first := true
	for page, seen := range s.pages {
		if !first {
			b.WriteByte(',')
		}
		first = false
		fmt.Fprintf(&b, `%q:%s`, page, seen.JSON())
	}
	b.WriteString(`}},"related":{},"finalizing":false}`)
	about = *s
	about.pages = maps.Clone(s.pages)
	return b.Bytes(), about
}

// siteOf names the site of a page.
func siteOf(page *object.Object) string { return page.Labels[site.Label] }
