// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"encoding/json"
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// events reads the events that the hook wants to be told. Values of Secrets are blanked in their messages.
func (d *Decoder) events(name string, value []byte) ([]pipeline.HookEvent, error) {
	var answered []answeredEvent
	if err := json.Unmarshal(value, &answered); err != nil {
		return nil, fmt.Errorf("%s must be a list of objects with type, reason, message and child, not %s", name, d.quote(value))
	}
	if len(answered) > maxEvents {
		return nil, fmt.Errorf("%s has %d entries; there may be %d", name, len(answered), maxEvents)
	}
	var events []pipeline.HookEvent
	for i, one := range answered {
		event := pipeline.HookEvent{Reason: one.Reason, Message: d.Redactor.Values(one.Message)}
		switch one.Type {
		case "", corev1.EventTypeNormal:
		case corev1.EventTypeWarning:
			event.Warning = true
		default:
			return nil, fmt.Errorf("%s[%d].type must be Normal or Warning, not %s", name, i, d.quote([]byte(fmt.Sprintf("%q", one.Type))))
		}
		if !eventReason.MatchString(one.Reason) {
			return nil, fmt.Errorf("%s[%d].reason must be a word in CamelCase, such as BackupFailed, not %s", name, i, d.quote([]byte(fmt.Sprintf("%q", one.Reason))))
		}
		if one.Message == "" {
			return nil, fmt.Errorf("%s[%d].message must not be empty", name, i)
		}
		if child := one.Child; child != nil {
			group, err := schema.ParseGroupVersion(child.APIVersion)
			if err != nil || child.APIVersion == "" || child.Kind == "" || child.Name == "" {
				return nil, fmt.Errorf("%s[%d].child must have the apiVersion, kind and name of a child", name, i)
			}
			event.Child = &pipeline.HookEventChild{Group: group.Group, Kind: child.Kind, Namespace: child.Namespace, Name: child.Name}
		}
		events = append(events, event)
	}
	return events, nil
}
