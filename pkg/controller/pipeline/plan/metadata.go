// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// metadataChange has the labels and annotations of a target that have to change, with their new
// values. The value nil removes a label or annotation.
type metadataChange struct{ labels, annotations map[string]*string }

// metadataChangeOf returns what differs between the hook's answer and a target.
func metadataChangeOf(target *object.Object, response *pipeline.Response) metadataChange {
	label := func(name string) (value string, there bool) {
		value, there = target.Labels[name]
		return value, there
	}
	return metadataChange{labels: differing(label, response.Labels), annotations: differing(target.Annotation, response.Annotations)}
}

func (c metadataChange) isNone() bool { return len(c.labels) == 0 && len(c.annotations) == 0 }

// path returns the first field that differs; empty if none does.
func (c metadataChange) path() string {
	switch {
	case len(c.labels) > 0:
		return "metadata.labels[" + firstName(c.labels) + "]"
	case len(c.annotations) > 0:
		return "metadata.annotations[" + firstName(c.annotations) + "]"
	default:
		return ""
	}
}

// differing returns the wanted labels or annotations that the target does not have in this way. The
// value nil means that the target must not have the label or annotation.
func differing(have func(name string) (value string, there bool), wanted map[string]*string) map[string]*string {
	var differing map[string]*string
	for name, want := range wanted {
		value, there := have(name)
		if there == (want != nil) && (want == nil || value == *want) {
			continue
		}
		if differing == nil {
			differing = map[string]*string{}
		}
		differing[name] = want
	}
	return differing
}

func firstName(changes map[string]*string) string {
	return slices.Min(slices.Collect(maps.Keys(changes)))
}

// apply returns the JSON of metadata with the change made. What does not change stays byte for byte.
func (c metadataChange) apply(metadata []byte) ([]byte, error) {
	metadata, err := withStrings(metadata, "labels", c.labels)
	if err != nil {
		return nil, err
	}
	return withStrings(metadata, "annotations", c.annotations)
}

// withStrings returns the JSON of an object with the strings in one of its fields changed.
func withStrings(of []byte, field string, changes map[string]*string) ([]byte, error) {
	if len(changes) == 0 {
		return of, nil
	}
	values := object.Lookup(of, field)
	if values == nil || string(values) == "null" {
		values = []byte(`{}`)
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		var value []byte
		var err error
		if text := changes[name]; text != nil {
			if value, err = json.Marshal(*text); err != nil {
				return nil, err
			}
		}
		if values, err = object.WithMember(values, name, value); err != nil {
			return nil, err
		}
	}
	return object.WithMember(of, field, values)
}

// hashDesiredTarget returns the hash of what the hook wants of a target: its labels, annotations
// and, if that is written in the same request, its status.
func hashDesiredTarget(response *pipeline.Response, status *pipeline.Step) (uint64, error) {
	wanted, err := json.Marshal([...]map[string]*string{response.Labels, response.Annotations})
	if err != nil {
		return 0, err
	}
	if status != nil {
		wanted = strconv.AppendUint(wanted, status.Desired, 10)
	}
	return xxhash.Sum64(wanted), nil
}

// hashTarget returns the hash of the same parts of a target as it is.
func hashTarget(of object.Type, o *object.Object) uint64 {
	hash := xxhash.New()
	add := func(value []byte) {
		_, _ = hash.Write(value)
		_, _ = hash.Write([]byte{0})
	}
	add(o.Lookup("metadata", "labels"))
	add(o.Lookup("metadata", "annotations"))
	if !of.StatusSubresource {
		add(o.Lookup("status"))
	}
	return hash.Sum64()
}
