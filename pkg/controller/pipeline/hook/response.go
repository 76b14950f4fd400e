// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// response reads the answer to a sync or finalize request.
func (r *reader) response(p protocol, answer []byte) (*pipeline.Response, error) {
	response := &pipeline.Response{}
	known := fields{
		"status": func(value []byte) (err error) {
			response.Status, err = r.status(value)
			return err
		},
		p.children: func(value []byte) (err error) {
			response.Children, err = r.children(value)
			return err
		},
		"resyncAfterSeconds": func(value []byte) (err error) {
			response.ResyncAfter, err = r.seconds(value)
			return err
		},
		"finalized": func(value []byte) (err error) {
			response.Finalized, err = r.boolean(value)
			return err
		},
	}
	if p.metadata {
		known["labels"] = func(value []byte) (err error) {
			response.Labels, err = r.changes("labels", value)
			return err
		}
		known["annotations"] = func(value []byte) (err error) {
			response.Annotations, err = r.changes("annotations", value)
			return err
		}
	}
	if err := r.read(answer, known); err != nil {
		return nil, err
	}
	return response, nil
}

// changes reads labels or annotations that change, of which a null takes one away.
func (r *reader) changes(name string, value []byte) (map[string]*string, error) {
	switch {
	case string(value) == "null":
		return nil, nil
	case value[0] != '{':
		return nil, fmt.Errorf("must be a JSON object, not %s", r.quote(value))
	}
	if r.closely {
		r.strict.findDuplicates(name, value)
	}
	changes := map[string]*string{}
	err := object.Members(value, func(key string, value []byte) error {
		if value[0] != '"' && string(value) != "null" {
			return fmt.Errorf("the value of %q must be a string, or null to take it away, not %s", key, r.quote(value))
		}
		var text *string
		if err := json.Unmarshal(value, &text); err != nil {
			return r.redacted(err)
		}
		changes[key] = text
		return nil
	})
	return changes, err
}

func (r *reader) status(value []byte) ([]byte, error) {
	switch {
	case string(value) == "null":
		return nil, nil
	case value[0] != '{':
		return nil, fmt.Errorf("must be a JSON object, not %s", r.quote(value))
	}
	if r.closely {
		r.strict.findDuplicates("status", value)
	}
	return value, nil
}

func (r *reader) children(value []byte) ([]*object.Object, error) {
	if value[0] != '[' && string(value) != "null" {
		return nil, fmt.Errorf("must be a list of objects, not %s", r.quote(value))
	}
	var children []*object.Object
	for child, err := range object.Objects(value) {
		switch index := len(children); {
		case err != nil:
			return nil, fmt.Errorf("entry %d: %w", index, r.redacted(err))
		case child == nil:
			return nil, fmt.Errorf("entry %d is null, which is no object", index)
		case child.Kind == "":
			return nil, fmt.Errorf("entry %d: Object 'Kind' is missing in %s", index, r.quote(child.JSON()))
		}
		children = append(children, child)
	}
	return children, nil
}

// maxResyncAfter keeps a hook's number of seconds within what a timer can hold.
const maxResyncAfter = 365 * 24 * time.Hour

func (r *reader) seconds(value []byte) (time.Duration, error) {
	var seconds *float64
	if err := json.Unmarshal(value, &seconds); err != nil {
		return 0, fmt.Errorf("must be a number of seconds, not %s", r.quote(value))
	}
	if seconds == nil {
		return 0, nil
	}
	return duration(*seconds), nil
}

// duration is a hook's number of seconds as a time, which is never negative.
func duration(seconds float64) time.Duration {
	nanoseconds := math.Ceil(seconds * float64(time.Second))
	return time.Duration(min(max(nanoseconds, 0), float64(maxResyncAfter)))
}

func (r *reader) boolean(value []byte) (bool, error) {
	var yes bool
	if err := json.Unmarshal(value, &yes); err != nil {
		return false, fmt.Errorf("must be true or false, not %s", r.quote(value))
	}
	return yes, nil
}
