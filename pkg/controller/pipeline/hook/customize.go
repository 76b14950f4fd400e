// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Customize asks which objects the other hooks are to be shown of the snapshot's parent
// beside its children. Of the snapshot only Controller and Parent are sent.
func (w *Webhook) Customize(ctx context.Context, snapshot *pipeline.Snapshot) ([]pipeline.RelatedRule, error) {
	var rules []pipeline.RelatedRule
	err := w.call(ctx, snapshot, func(to []byte) []byte { return customizeRequest(to, snapshot) }, isSecret(snapshot.Parent), func(r *reader, answer []byte) (err error) {
		rules, err = r.customize(answer)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rules, nil
}

// customizeRequest appends the body of a customize request, the same in all versions.
func customizeRequest(to []byte, snapshot *pipeline.Snapshot) []byte {
	body := slices.Grow(to, 32+len(snapshot.Controller)+snapshot.Parent.Size())
	body = append(body, `{"controller":`...)
	body = append(body, snapshot.Controller...)
	body = append(body, `,"parent":`...)
	body = snapshot.Parent.AppendJSON(body)
	return append(body, '}')
}

// customize reads the answer to a customize request.
func (r *reader) customize(answer []byte) (rules []pipeline.RelatedRule, err error) {
	err = r.read(answer, fields{
		"relatedResources": func(value []byte) (err error) {
			rules, err = r.rules(value)
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	return rules, nil
}

func (r *reader) rules(value []byte) ([]pipeline.RelatedRule, error) {
	if value[0] != '[' && string(value) != "null" {
		return nil, fmt.Errorf("must be a list of rules, not %s", r.quote(value))
	}
	var rules []pipeline.RelatedRule
	err := object.Elements(value, func(index int, element []byte) error {
		if element[0] != '{' {
			return fmt.Errorf("entry %d must be a rule, which is a JSON object, not %s", index, r.quote(element))
		}
		var written relatedRule
		odd, err := json.UnmarshalStrict(element, &written)
		if err != nil {
			return fmt.Errorf("entry %d: %w", index, explainType(err))
		}
		r.strict.addIn(fmt.Sprintf("relatedResources[%d]", index), odd)
		rule, err := written.resolve()
		if err != nil {
			return fmt.Errorf("entry %d: %w", index, err)
		}
		rules = append(rules, rule)
		return nil
	})
	return rules, err
}

// explainType names the field that has a value of the wrong type.
func explainType(err error) error {
	if wrong, ok := errors.AsType[*stdjson.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: a JSON %s is not allowed here", wrong.Field, wrong.Value)
	}
	return err
}
