// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package statichost

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// validate returns an error if a custom resource is not as its schema says.
func (t *Type) validate(object *unstructured.Unstructured) error {
	raw, err := json.Marshal(t.schema)
	if err != nil {
		return err
	}
	var of spec.Schema
	if err := json.Unmarshal(raw, &of); err != nil {
		return fmt.Errorf("read its schema: %w", err)
	}
	result := validate.NewSchemaValidator(&of, nil, "", strfmt.Default).Validate(object.Object)
	return errors.Join(result.Errors...)
}

// refuseUnknown returns an error if an object has fields that its type has not. A cluster would drop them.
func (t *Types) refuseUnknown(object *unstructured.Unstructured) error {
	known, err := t.fieldsOf(object.GroupVersionKind())
	if err != nil {
		return err
	}
	raw, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	var errs []error
	for _, unknown := range known.UnknownFields(raw) {
		text := fmt.Sprintf("the type %s of %s has no field %s", object.GetKind(), object.GetAPIVersion(), unknown.Path)
		if unknown.Meant != "" {
			text += ", did you mean " + unknown.Meant + "?"
		}
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

// fieldsOf returns what is known of the fields of a kind.
func (t *Types) fieldsOf(kind schema.GroupVersionKind) (*openapi.Type, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, isRead := t.fields[kind]; isRead {
		return known, nil
	}
	read, err := openapi.Read(t.document, func(schema.GroupVersionKind) reflect.Type { return nil }, kind)
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", kind.Kind, err)
	}
	t.fields[kind] = read[kind]
	return read[kind], nil
}
