// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// ErrUnreadable is what every error about an answer's content starts with. An
// unreadable answer changes nothing in the host.
var ErrUnreadable = errors.New("the hook's answer cannot be read")

// decodeComposite reads the answer to a composite sync or finalize request. Fields
// it does not know are ignored.
func decodeComposite(body []byte) (*stage.Response, error) {
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return nil, fmt.Errorf("%w: it is empty; a hook answers with a JSON object", ErrUnreadable)
	case string(body) == "null":
		return &stage.Response{}, nil
	case body[0] != '{':
		return nil, fmt.Errorf("%w: it must be a JSON object, but it starts with %q", ErrUnreadable, beginning(body))
	}
	response := &stage.Response{}
	err := object.Members(body, func(name string, value []byte) error {
		var err error
		switch name {
		case "status":
			response.Status, err = decodeStatus(value)
		case "children":
			response.Children, err = decodeChildren(value)
		case "resyncAfterSeconds":
			response.ResyncAfter, err = decodeSeconds(value)
		case "finalized":
			response.Finalized, err = decodeBool(value)
		}
		if err != nil {
			return fmt.Errorf("field %q: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return response, nil
}

func decodeStatus(value []byte) ([]byte, error) {
	switch {
	case string(value) == "null":
		return nil, nil
	case value[0] != '{':
		return nil, fmt.Errorf("must be a JSON object, not %s", beginning(value))
	}
	return value, nil
}

func decodeChildren(value []byte) ([]*object.Object, error) {
	if value[0] != '[' && string(value) != "null" {
		return nil, fmt.Errorf("must be a list of objects, not %s", beginning(value))
	}
	var children []*object.Object
	err := object.Elements(value, func(index int, element []byte) error {
		if string(element) == "null" {
			return fmt.Errorf("entry %d is null, which is no object", index)
		}
		child, err := object.Parse(element)
		if err != nil {
			return fmt.Errorf("entry %d: %w", index, err)
		}
		if child.Kind == "" {
			return fmt.Errorf("entry %d: Object 'Kind' is missing in %s", index, beginning(element))
		}
		children = append(children, child)
		return nil
	})
	return children, err
}

// longestWait keeps a hook's number of seconds within what a timer can hold.
const longestWait = 365 * 24 * time.Hour

func decodeSeconds(value []byte) (time.Duration, error) {
	var seconds *float64
	if err := json.Unmarshal(value, &seconds); err != nil {
		return 0, fmt.Errorf("must be a number of seconds, not %s", beginning(value))
	}
	if seconds == nil {
		return 0, nil
	}
	return wait(*seconds), nil
}

// wait is a hook's number of seconds as a time, which is never negative.
func wait(seconds float64) time.Duration {
	nanoseconds := math.Ceil(seconds * float64(time.Second))
	return time.Duration(min(max(nanoseconds, 0), float64(longestWait)))
}

func decodeBool(value []byte) (bool, error) {
	var yes bool
	if err := json.Unmarshal(value, &yes); err != nil {
		return false, fmt.Errorf("must be true or false, not %s", beginning(value))
	}
	return yes, nil
}

// beginning is enough of a text to recognise it by, on one line.
func beginning(text []byte) string {
	const most = 120
	line := strings.Join(strings.Fields(string(text[:min(len(text), 2*most)])), " ")
	if len(line) <= most && len(text) <= 2*most {
		return line
	}
	return strings.ToValidUTF8(line[:min(len(line), most)], "") + "…"
}
