// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Response reads the answer to a sync or finalize request.
func (d *Decoder) Response(f Format, answer []byte) (*pipeline.Response, error) {
	response := &pipeline.Response{}
	known := fields{
		"status": func(value []byte) (err error) {
			response.Status, err = d.object("status", value)
			return err
		},
		f.children: func(value []byte) (err error) {
			response.SaysChildren = true
			response.Children, err = d.children(f.children, value)
			return err
		},
		"resyncAfterSeconds": func(value []byte) (err error) {
			response.ResyncAfter, err = d.seconds("resyncAfterSeconds", value)
			return err
		},
		"events": func(value []byte) error {
			response.Events = d.events("events", value)
			return nil
		},
		"finalized": func(value []byte) (err error) {
			response.SaysFinalized = true
			response.Finalized, err = d.boolean("finalized", value)
			return err
		},
	}
	if f.metadata {
		known["labels"] = func(value []byte) (err error) {
			response.Labels, err = d.changes("labels", value)
			return err
		}
		known["annotations"] = func(value []byte) (err error) {
			response.Annotations, err = d.changes("annotations", value)
			return err
		}
	}
	if err := d.read(answer, known); err != nil {
		return nil, err
	}
	return response, nil
}

const (
	// maxChangesBytes limits the size of the labels or the annotations of an answer. Clusters allow 256 KiB.
	maxChangesBytes = 1 << 20
	// maxChildren limits how many children an answer has. The smallest ones take 50 times the memory of their JSON.
	maxChildren = 20_000
	// maxRules limits how many rules the answer of a customize hook has.
	maxRules = 4096
)

// changes reads the labels or annotations that the hook changes. A null removes a label or an annotation.
func (d *Decoder) changes(name string, value []byte) (map[string]*string, error) {
	value, err := d.object(name, value)
	if value == nil || err != nil {
		return nil, err
	}
	if len(value) > maxChangesBytes {
		return nil, fmt.Errorf("%s has %d bytes; the maximum is %d", name, len(value), maxChangesBytes)
	}
	changes := map[string]*string{}
	err = object.Members(value, func(key string, value []byte) error {
		if value[0] != '"' && string(value) != "null" {
			return fmt.Errorf("%s[%s] must be a string, or null to remove it, not %s", name, key, d.quote(value))
		}
		var text *string
		if err := json.Unmarshal(value, &text); err != nil {
			return fmt.Errorf("%s[%s]: %w", name, key, d.redacted(err))
		}
		changes[key] = text
		return nil
	})
	return changes, err
}

// object returns the JSON of a field that is an object; nil for null.
func (d *Decoder) object(name string, value []byte) ([]byte, error) {
	switch {
	case string(value) == "null":
		return nil, nil
	case value[0] != '{':
		return nil, fmt.Errorf("%s must be a JSON object, not %s", name, d.quote(value))
	}
	if d.FindDuplicates {
		d.strictErrors.findDuplicates(name, value)
	}
	return value, nil
}

// children reads the field for children.
func (d *Decoder) children(name string, value []byte) ([]*object.Object, error) {
	if value[0] != '[' && string(value) != "null" {
		return nil, fmt.Errorf("%s must be a list of objects, not %s", name, d.quote(value))
	}
	var children []*object.Object
	for child, err := range object.Objects(value) {
		switch index := len(children); {
		case err != nil:
			return nil, fmt.Errorf("%s[%d]: %w", name, index, d.redacted(err))
		case index >= maxChildren:
			return nil, fmt.Errorf("%s has more than the maximum of %d entries", name, maxChildren)
		case child == nil:
			return nil, fmt.Errorf("%s[%d] is null; it must be an object", name, index)
		case child.Kind == "":
			return nil, fmt.Errorf("%s[%d] has no kind: %s", name, index, d.quote(child.JSON()))
		}
		children = append(children, child)
	}
	return children, nil
}

// maxResyncAfter limits resyncAfterSeconds to what a timer can hold.
const maxResyncAfter = 365 * 24 * time.Hour

// seconds reads a number of seconds. A negative number counts as zero.
func (d *Decoder) seconds(name string, value []byte) (time.Duration, error) {
	var seconds *float64
	if err := json.Unmarshal(value, &seconds); err != nil {
		return 0, fmt.Errorf("%s must be a number of seconds, not %s", name, d.quote(value))
	}
	if seconds == nil {
		return 0, nil
	}
	nanoseconds := math.Ceil(*seconds * float64(time.Second))
	return time.Duration(min(max(nanoseconds, 0), float64(maxResyncAfter))), nil
}

func (d *Decoder) boolean(name string, value []byte) (bool, error) {
	var yes bool
	if err := json.Unmarshal(value, &yes); err != nil {
		return false, fmt.Errorf("%s must be true or false, not %s", name, d.quote(value))
	}
	return yes, nil
}

// maxEvents limits how many events an answer has.
const maxEvents = 10

// eventReason matches valid reasons of events.
var eventReason = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,127}$`)

// answeredEvent is an event in an answer.
type answeredEvent struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Child   *struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Namespace  string `json:"namespace"`
		Name       string `json:"name"`
	} `json:"child"`
}

// events reads the events that the hook wants to be written. An invalid one is only a strict error, because hooks that
// were written before events existed may have a field of that name. Values of Secrets are blanked in messages.
func (d *Decoder) events(name string, value []byte) []pipeline.HookEvent {
	answered, count, err := readEvents(value)
	if err != nil {
		d.strictErrors.add(fmt.Errorf("%s must be a list of objects with type, reason, message and child, not %s",
			name, d.quote(value)))
		return nil
	}
	if count > maxEvents {
		d.strictErrors.add(fmt.Errorf("%s has %d entries; the maximum is %d", name, count, maxEvents))
	}
	var events []pipeline.HookEvent
	var messages []string
	for i := range answered {
		event, err := d.event(&answered[i])
		if err != nil {
			d.strictErrors.add(fmt.Errorf("%s[%d].%w", name, i, err))
			continue
		}
		events, messages = append(events, event), append(messages, event.Message)
	}
	for i, message := range d.Redactor.Each(messages) {
		events[i].Message = message
	}
	return events
}

// readEvents returns the first events of a list, and how many there are in all.
func readEvents(list []byte) (events []answeredEvent, count int, err error) {
	if list[0] != '[' {
		return nil, 0, json.Unmarshal(list, &events)
	}
	err = object.Elements(list, func(_ int, element []byte) error {
		if count++; count > maxEvents {
			return nil
		}
		var event answeredEvent
		err := json.Unmarshal(element, &event)
		events = append(events, event)
		return err
	})
	return events, count, err
}

// event returns an event whose message may contain secrets.
func (d *Decoder) event(answered *answeredEvent) (pipeline.HookEvent, error) {
	event := pipeline.HookEvent{Reason: answered.Reason, Message: answered.Message}
	switch answered.Type {
	case "", corev1.EventTypeNormal:
	case corev1.EventTypeWarning:
		event.Warning = true
	default:
		return event, fmt.Errorf("type must be Normal or Warning, not %s", d.quote(strconv.AppendQuote(nil, answered.Type)))
	}
	if !eventReason.MatchString(answered.Reason) {
		return event, fmt.Errorf("reason must be a word in CamelCase, such as BackupFailed, not %s",
			d.quote(strconv.AppendQuote(nil, answered.Reason)))
	}
	if answered.Message == "" {
		return event, errors.New("message must not be empty")
	}
	if child := answered.Child; child != nil {
		group, err := schema.ParseGroupVersion(child.APIVersion)
		if err != nil || child.APIVersion == "" || child.Kind == "" || child.Name == "" {
			return event, errors.New("child must have the apiVersion, kind and name of a child")
		}
		event.Child = &pipeline.HookEventChild{
			Group: group.Group, Kind: child.Kind, Namespace: child.Namespace, Name: child.Name,
		}
	}
	return event, nil
}
