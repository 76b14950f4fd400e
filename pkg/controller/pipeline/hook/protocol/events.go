// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// maxEvents is how many events an answer may have.
const maxEvents = 10

// eventReason is what reasons of events look like.
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

// events reads the events that the hook wants to be told. One that cannot be told is a strict error, since hooks
// that were written before there were events may have a field of that name. Values of Secrets are blanked in
// messages.
func (d *Decoder) events(name string, value []byte) []pipeline.HookEvent {
	answered, count, err := readEvents(value)
	if err != nil {
		d.strictErrors.add(fmt.Errorf("%s must be a list of objects with type, reason, message and child, not %s",
			name, d.quote(value)))
		return nil
	}
	if count > maxEvents {
		d.strictErrors.add(fmt.Errorf("%s has %d entries; there may be %d", name, count, maxEvents))
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

// event returns an event whose message may have secrets in it.
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
		return event, fmt.Errorf("reason must be a word in CamelCase, such as BackupFailed, not %s", d.quote(strconv.AppendQuote(nil, answered.Reason)))
	}
	if answered.Message == "" {
		return event, errors.New("message must not be empty")
	}
	if child := answered.Child; child != nil {
		group, err := schema.ParseGroupVersion(child.APIVersion)
		if err != nil || child.APIVersion == "" || child.Kind == "" || child.Name == "" {
			return event, errors.New("child must have the apiVersion, kind and name of a child")
		}
		event.Child = &pipeline.HookEventChild{Group: group.Group, Kind: child.Kind, Namespace: child.Namespace, Name: child.Name}
	}
	return event, nil
}
