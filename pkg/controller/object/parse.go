// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Parse reads one object in a single pass over raw. It keeps no part of raw. Errors name the field that is not
// of the type that Kubernetes requires.
func Parse(raw []byte) (*Object, error) { return (&parser{}).parse(raw, nil) }

// parse reads one object and puts its JSON into the memory of to, which may be the memory of raw.
func (p *parser) parse(raw, to []byte) (*Object, error) {
	p.reset(raw)
	read, err := p.next()
	if err != nil {
		return nil, err
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	read.json = p.withoutManagedFields(span{0, len(raw)}, to)
	return read, nil
}

// Objects reads the objects of a JSON list in a single pass. A null yields nil. It stops at the first error.
// Unlike the objects of Parse, these may keep parts of the list.
func Objects(list []byte) iter.Seq2[*Object, error] {
	return func(yield func(*Object, error) bool) {
		p := &parser{}
		p.reset(list)
		isNull, err := p.open("list", '[', "a list")
		if err != nil {
			yield(nil, err)
			return
		}
		for !isNull && err == nil && p.dec.PeekKind() != ']' {
			var read *Object
			if read, err = p.element(); !yield(read, err) {
				return
			}
		}
	}
}

// element reads an object of a list, or a null.
func (p *parser) element() (*Object, error) {
	if p.dec.PeekKind() == 'n' {
		return nil, p.skip()
	}
	before := p.offset() // a comma and white space may follow
	read, err := p.next()
	if err != nil {
		return nil, err
	}
	start := before + bytes.IndexByte(p.raw[before:], '{')
	if read.json = p.raw[start:p.offset():p.offset()]; len(p.cuts) > 0 {
		read.json = p.withoutManagedFields(span{start, p.offset()}, nil)
	}
	return read, nil
}

// next reads the next object, except for its JSON.
func (p *parser) next() (*Object, error) {
	p.out, p.managedFields, p.hasLastApplied, p.cuts = &Object{}, nil, false, p.cuts[:0]
	p.hash.Reset()
	if err := p.object(); err != nil {
		return nil, err
	}
	p.out.Hash = p.hash.Sum64()
	p.out.hasLastApplied = p.hasLastApplied
	if p.hasLastApplied {
		p.out.Owners = internText(p.interned.owners, p.owners.read(p.managedFields))
	}
	if p.applier != "" {
		p.out.Applied, p.out.Shared = appliedFields(p.applier, p.managedFields)
	}
	return p.out, nil
}

// parser reads objects.
type parser struct {
	scanner
	// out is a pointer, because an object that is a part of the parser would keep the entire parser alive.
	out  *Object
	hash xxhash.Digest
	// managedFields is the raw value of that field.
	managedFields []byte
	// hasLastApplied is true if the object has a LastAppliedAnnotation.
	hasLastApplied bool
	// applier is the manager whose applied fields are kept; empty if none are.
	applier  string
	interned interned
	owners   ownersReader
	// cuts are the parts of the input that managedFields take up, each with one comma.
	cuts []span
}

// forget drops all references to the object that was read last.
func (p *parser) forget() {
	p.reset(nil)
	p.out, p.managedFields, p.interned = nil, nil, interned{}
	p.owners.forget()
}

// span is a half-open range of the input.
type span struct{ start, end int }

func (p *parser) object() error {
	return p.members("", func(m member) error {
		var err error
		switch string(m.name) {
		case "apiVersion":
			p.out.APIVersion, err = p.name("apiVersion")
		case "kind":
			p.out.Kind, err = p.name("kind")
		case "metadata":
			return p.metadata()
		case "status":
			return p.skip()
		default:
			err = p.skip()
		}
		if err != nil {
			return err
		}
		p.addToHash(m)
		return nil
	})
}

func (p *parser) metadata() error {
	p.out.ObjectMeta = metav1.ObjectMeta{}
	p.managedFields, p.hasLastApplied = nil, false
	p.bracketHash('{')
	defer p.bracketHash('}')
	previousEnd, kept, cutToNext := 0, false, false
	return p.members("metadata", func(m member) error {
		if cutToNext {
			p.cuts[len(p.cuts)-1].end, cutToNext = m.start, false
		}
		hashed, err := p.metadataField(m.name)
		if err != nil {
			return err
		}
		if hashed {
			p.addToHash(m)
		}
		switch {
		case string(m.name) != "managedFields":
			kept = true
		case kept:
			p.cuts = append(p.cuts, span{previousEnd, p.offset()})
		default:
			p.cuts, cutToNext = append(p.cuts, span{m.start, p.offset()}), true
		}
		previousEnd = p.offset()
		return nil
	})
}

// metadataField reads the field's value, and reports whether the hash covers it.
func (p *parser) metadataField(name []byte) (hashed bool, err error) {
	meta := &p.out.ObjectMeta
	switch string(name) {
	case "managedFields":
		p.managedFields, err = p.value()
		return false, err
	case "resourceVersion":
		meta.ResourceVersion, err = p.string("metadata.resourceVersion")
		return false, err
	case "generation":
		meta.Generation, err = p.int("metadata.generation")
		return false, err
	case "name":
		meta.Name, err = p.string("metadata.name")
	case "generateName":
		meta.GenerateName, err = p.string("metadata.generateName")
	case "namespace":
		meta.Namespace, err = p.name("metadata.namespace")
	case "uid":
		var uid string
		uid, err = p.string("metadata.uid")
		meta.UID = types.UID(uid)
	case "labels":
		meta.Labels, err = intern(&p.scanner, p.interned.labels, func(s *scanner) (map[string]string, error) {
			return s.stringMap("metadata.labels", func(string) bool { return false })
		})
	case "annotations":
		meta.Annotations, err = p.annotations("metadata.annotations")
	case "creationTimestamp":
		meta.CreationTimestamp, err = decode[metav1.Time](&p.scanner, "metadata.creationTimestamp")
	case "deletionTimestamp":
		meta.DeletionTimestamp, err = decode[*metav1.Time](&p.scanner, "metadata.deletionTimestamp")
	case "deletionGracePeriodSeconds":
		meta.DeletionGracePeriodSeconds, err = decode[*int64](&p.scanner, "metadata.deletionGracePeriodSeconds")
	case "ownerReferences":
		read := func(s *scanner) ([]metav1.OwnerReference, error) {
			return decode[[]metav1.OwnerReference](s, "metadata.ownerReferences")
		}
		meta.OwnerReferences, err = intern(&p.scanner, p.interned.references, read)
	case "finalizers":
		meta.Finalizers, err = decode[[]string](&p.scanner, "metadata.finalizers")
	default:
		err = p.skip()
	}
	return true, err
}

// name reads a name that many objects share.
func (p *parser) name(path string) (string, error) {
	return intern(&p.scanner, p.interned.names, func(s *scanner) (string, error) { return s.string(path) })
}

// annotations reads all annotations except those that repeat an entire object.
func (p *parser) annotations(path string) (map[string]string, error) {
	p.hasLastApplied = false
	return p.stringMap(path, func(name string) bool {
		p.hasLastApplied = p.hasLastApplied || name == LastAppliedAnnotation
		return repeatsObject(name)
	})
}

// addToHash adds a member's name and value to the hash. The zero byte separates neighbours.
func (p *parser) addToHash(m member) {
	_, _ = p.hash.Write(p.raw[m.start:p.offset()])
	_, _ = p.hash.Write([]byte{0})
}

// bracketHash separates the fields of the metadata from the fields of the object in the hash.
func (p *parser) bracketHash(bracket byte) { _, _ = p.hash.Write([]byte{bracket}) }

// withoutManagedFields copies the part of the input that is the object, without the cuts, to the
// memory of to.
func (p *parser) withoutManagedFields(of span, to []byte) []byte {
	size, end := of.end-of.start, of.start
	for _, cut := range p.cuts {
		size -= cut.end - cut.start
	}
	kept := slices.Grow(to[:0], size)
	for _, cut := range p.cuts {
		kept = append(kept, p.raw[end:cut.start]...)
		end = cut.end
	}
	return append(kept, p.raw[end:of.end]...)
}

// decode reads the next value with encoding/json, for which the Kubernetes types are written.
func decode[T any](s *scanner, path string) (decoded T, err error) {
	value, err := s.value()
	if err != nil {
		return decoded, err
	}
	if err := json.Unmarshal(value, &decoded); err != nil {
		return decoded, fmt.Errorf("%s: %w", path, explain(err))
	}
	return decoded, nil
}

func explain(err error) error {
	if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("a JSON %s is not allowed here", wrongType.Value)
	}
	if _, ok := errors.AsType[*time.ParseError](err); ok {
		return errors.New("expected a time such as 2026-01-31T12:00:00Z")
	}
	return err
}
