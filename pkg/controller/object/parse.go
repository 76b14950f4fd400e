// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/cespare/xxhash/v2"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Parse reads one object in a single pass over raw. It keeps no part of raw.
// Errors name the field that is not what Kubernetes says it must be.
func Parse(raw []byte) (*Object, error) { return parse(raw, "") }

func parse(raw []byte, manager string) (*Object, error) {
	p := parser{scanner: newScanner(raw), out: &Object{}, hash: xxhash.New(), manager: manager}
	if err := p.object(); err != nil {
		return nil, err
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	p.out.JSON = p.withoutManagedFields()
	p.out.Hash = p.hash.Sum64()
	if p.recorded {
		p.out.Others = othersFields(p.managedFields)
	}
	if manager != "" {
		p.out.Applied, p.out.Shared = appliedBy(manager, p.managedFields)
	}
	return p.out, nil
}

type parser struct {
	*scanner
	// out is no part of the parser: an object would keep all of it alive.
	out  *Object
	hash *xxhash.Digest
	// managedFields is the raw value of that field.
	managedFields []byte
	// recorded tells that there is a LastAppliedAnnotation.
	recorded bool
	// manager is whose applied fields are kept; empty is nobody's.
	manager string
	// cuts are the parts of the input that managedFields take, each with one comma.
	cuts []span
}

// span is a half-open range of the input.
type span struct{ start, end int }

func (p *parser) object() error {
	return p.members("", func(m member) error {
		var err error
		switch m.name {
		case "apiVersion":
			p.out.APIVersion, err = p.string("apiVersion")
		case "kind":
			p.out.Kind, err = p.string("kind")
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
	p.managedFields, p.recorded = nil, false
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
		case m.name != "managedFields":
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

// metadataField reads the field's value and tells whether it is content, which
// the hash covers.
func (p *parser) metadataField(name string) (hashed bool, err error) {
	const at = "metadata."
	meta := &p.out.ObjectMeta
	switch name {
	case "managedFields":
		p.managedFields, err = p.value()
		return false, err
	case "resourceVersion":
		meta.ResourceVersion, err = p.string(at + name)
		return false, err
	case "generation":
		meta.Generation, err = p.int(at + name)
		return false, err
	case "name":
		meta.Name, err = p.string(at + name)
	case "generateName":
		meta.GenerateName, err = p.string(at + name)
	case "namespace":
		meta.Namespace, err = p.string(at + name)
	case "uid":
		var uid string
		uid, err = p.string(at + name)
		meta.UID = types.UID(uid)
	case "labels":
		meta.Labels, err = p.stringMap(at+name, func(string) bool { return false })
	case "annotations":
		meta.Annotations, err = p.annotations(at + name)
	case "creationTimestamp":
		meta.CreationTimestamp, err = decode[metav1.Time](p, at+name)
	case "deletionTimestamp":
		meta.DeletionTimestamp, err = decode[*metav1.Time](p, at+name)
	case "ownerReferences":
		meta.OwnerReferences, err = decode[[]metav1.OwnerReference](p, at+name)
	case "finalizers":
		meta.Finalizers, err = decode[[]string](p, at+name)
	default:
		err = p.skip()
	}
	return true, err
}

// annotations reads all annotations but those that repeat a whole object.
func (p *parser) annotations(path string) (map[string]string, error) {
	p.recorded = false
	return p.stringMap(path, func(name string) bool {
		p.recorded = p.recorded || name == LastAppliedAnnotation
		return repeatsObject(name)
	})
}

// addToHash adds a member's name and value. The zero byte keeps neighbours apart.
func (p *parser) addToHash(m member) {
	_, _ = p.hash.Write(p.raw[m.start:p.offset()])
	_, _ = p.hash.Write([]byte{0})
}

// bracketHash keeps the fields of the metadata apart from those of the object.
func (p *parser) bracketHash(bracket byte) { _, _ = p.hash.Write([]byte{bracket}) }

func (p *parser) withoutManagedFields() []byte {
	size, end := len(p.raw), 0
	for _, cut := range p.cuts {
		size -= cut.end - cut.start
	}
	kept := make([]byte, 0, size)
	for _, cut := range p.cuts {
		kept = append(kept, p.raw[end:cut.start]...)
		end = cut.end
	}
	return append(kept, p.raw[end:]...)
}

// decode reads the next value with encoding/json, which the Kubernetes types are
// written for.
func decode[T any](p *parser, path string) (decoded T, err error) {
	value, err := p.value()
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
	return err
}

// scanner reads JSON token by token and knows where in the input it stands.
type scanner struct {
	raw []byte
	dec *jsontext.Decoder
}

func newScanner(raw []byte) *scanner {
	return &scanner{raw: raw, dec: jsontext.NewDecoder(bytes.NewBuffer(raw),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

// member is one name of a JSON object; start is where the quoted name begins.
type member struct {
	name  string
	start int
}

// members visits each member of the object that comes next; visit must read the
// member's value. A null counts as an empty object.
func (s *scanner) members(path string, visit func(member) error) error {
	if isNull, err := s.open(path, '{', "an object"); isNull || err != nil {
		return err
	}
	for s.dec.PeekKind() != '}' {
		quoted, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		start := s.offset() - len(quoted)
		name, err := jsontext.AppendUnquote(nil, quoted)
		if err != nil {
			return err
		}
		if err := visit(member{string(name), start}); err != nil {
			return err
		}
	}
	_, err := s.dec.ReadToken()
	return err
}

// open reads the delimiter that starts an object or a list, or a null.
func (s *scanner) open(path string, want jsontext.Kind, wanted string) (isNull bool, err error) {
	kind := s.dec.PeekKind()
	if kind == 'n' && path != "" {
		return true, s.skip()
	}
	if kind != want {
		return false, s.wrongKind(path, wanted)
	}
	_, err = s.dec.ReadToken()
	return false, err
}

func (s *scanner) string(path string) (string, error) {
	token, isNull, err := s.token(path, '"', "a string")
	if isNull || err != nil {
		return "", err
	}
	return token.String(), nil
}

func (s *scanner) int(path string) (int64, error) {
	token, isNull, err := s.token(path, '0', "a number")
	if isNull || err != nil {
		return 0, err
	}
	number, err := strconv.ParseInt(token.String(), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %s is not a whole number", path, token)
	}
	return number, nil
}

func (s *scanner) token(path string, want jsontext.Kind, wanted string) (token jsontext.Token, isNull bool, err error) {
	switch kind := s.dec.PeekKind(); kind {
	case 'n':
		return token, true, s.skip()
	case want:
		token, err = s.dec.ReadToken()
		return token, false, err
	default:
		return token, false, s.wrongKind(path, wanted)
	}
}

// stringMap reads a map of strings, without those that leaveOut tells by their names.
func (s *scanner) stringMap(path string, leaveOut func(name string) bool) (map[string]string, error) {
	var read map[string]string
	err := s.members(path, func(m member) error {
		if leaveOut(m.name) {
			return s.skip()
		}
		value, err := s.string(path + "[" + m.name + "]")
		if err != nil {
			return err
		}
		if read == nil {
			read = map[string]string{}
		}
		read[m.name] = value
		return nil
	})
	return read, err
}

// value reads the next value whole. It is a part of the input.
func (s *scanner) value() ([]byte, error) {
	value, err := s.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	end := s.offset()
	return s.raw[end-len(value) : end], nil
}

func (s *scanner) skip() error { return s.dec.SkipValue() }

func (s *scanner) offset() int { return int(s.dec.InputOffset()) }

// end reports an error if anything but white space is left.
func (s *scanner) end() error {
	if rest := bytes.TrimSpace(s.raw[s.offset():]); len(rest) > 0 {
		return fmt.Errorf("%q follows the end of the object", cutShort(rest))
	}
	return nil
}

// wrongKind says what stands where something else was wanted. Broken JSON is
// reported as such.
func (s *scanner) wrongKind(path, wanted string) error {
	value, err := s.value()
	if err != nil {
		return err
	}
	return &FieldError{path: path, wanted: wanted, found: string(cutShort(value))}
}

// FieldError tells that a field of an object, or with an empty path the object itself,
// is something else than it must be.
type FieldError struct{ path, wanted, found string }

func (e *FieldError) Error() string { return e.Problem() + ", found " + e.found }

// Problem says what is wrong without quoting what the field holds.
func (e *FieldError) Problem() string {
	if e.path == "" {
		return "expected " + e.wanted
	}
	return e.path + ": expected " + e.wanted
}

func cutShort(text []byte) []byte {
	const most = 40
	if len(text) <= most {
		return text
	}
	return append(append([]byte(nil), text[:most]...), "…"...)
}
