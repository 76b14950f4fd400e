// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// resourceVersion is the version of lists, and of objects without one.
const resourceVersion = "1000"

// created is the creation time of objects without one: long ago.
var created = metav1.NewTime(time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC))

// Complete sets the fields of an object that a cluster would have set: a namespace, a UID that depends only on the
// name, a version, and the defaults of custom resources and of our API. It returns an error if a cluster would refuse
// the object, or drop fields of it.
func (t *Types) Complete(object *unstructured.Unstructured) error {
	of, err := t.Of(object.GroupVersionKind())
	if err != nil {
		return err
	}
	if err := of.completeMetadata(object); err != nil {
		return err
	}
	switch kind := object.GroupVersionKind(); {
	case kind.Group == v1alpha1.GroupName:
		return defaultOwn(object)
	case kind == secret:
		if err := completeSecret(object); err != nil {
			return err
		}
	}
	if of.schema != nil {
		setDefaults(object.Object, of.schema)
		if err := of.validate(object); err != nil {
			return err
		}
	}
	return t.refuseUnknown(object)
}

func (t *Type) completeMetadata(object *unstructured.Unstructured) error {
	switch {
	case object.GetName() == "":
		return errors.New("it has no metadata.name")
	case !t.Namespaced && object.GetNamespace() != "":
		return fmt.Errorf("it is cluster-scoped, but has the namespace %s", object.GetNamespace())
	case t.Namespaced && object.GetNamespace() == "":
		object.SetNamespace(metav1.NamespaceDefault)
	}
	if object.GetUID() == "" {
		object.SetUID(uidOf(t.GroupResource().String(), path(object)))
	}
	if object.GetResourceVersion() == "" {
		object.SetResourceVersion(resourceVersion)
	}
	if object.GetGeneration() == 0 && (t.schema != nil || t.Status) {
		object.SetGeneration(1)
	}
	if at := object.GetCreationTimestamp(); at.IsZero() {
		object.SetCreationTimestamp(created)
	}
	return nil
}

// uidOf returns a UID derived from the name of an object.
func uidOf(resource, path string) types.UID {
	sum := sha256.Sum256([]byte(resource + " " + path))
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}

// path returns the namespace and the name of an object.
func path(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}

var secret = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// completeSecret sets the type of a Secret, and moves stringData to data.
func completeSecret(object *unstructured.Unstructured) error {
	if _, given := object.Object["type"]; !given {
		object.Object["type"] = "Opaque"
	}
	plain, _, err := unstructured.NestedStringMap(object.Object, "stringData")
	if err != nil {
		return err
	}
	for name, value := range plain {
		if err := unstructured.SetNestedField(object.Object, base64.StdEncoding.EncodeToString([]byte(value)), "data",
			name); err != nil {
			return err
		}
	}
	delete(object.Object, "stringData")
	return nil
}

// defaultOwn sets the defaults of an object of our API. It refuses unknown fields.
func defaultOwn(object *unstructured.Unstructured) error {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	kind := object.GroupVersionKind()
	typed, err := scheme.New(kind)
	if err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true); err != nil {
		return err
	}
	scheme.Default(typed)
	if object.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(typed); err != nil {
		return err
	}
	object.SetGroupVersionKind(kind)
	return nil
}

// setDefaults sets the defaults of a schema in a value, as a cluster does for custom resources: where the field is
// missing, or is null although it may not be.
func setDefaults(value any, schema map[string]any) {
	switch value := value.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			below, ok := property.(map[string]any)
			if !ok {
				continue
			}
			given, isThere := value[name]
			nullable, _ := below["nullable"].(bool)
			if byDefault, ok := below["default"]; ok && (!isThere || given == nil && !nullable) {
				value[name] = runtime.DeepCopyJSONValue(byDefault)
			}
			setDefaults(value[name], below)
		}
		if values, ok := schema["additionalProperties"].(map[string]any); ok {
			for name, below := range value {
				if _, declared := properties[name]; !declared {
					setDefaults(below, values)
				}
			}
		}
	case []any:
		if items, ok := schema["items"].(map[string]any); ok {
			for _, item := range value {
				setDefaults(item, items)
			}
		}
	}
}

// validate returns an error if a custom resource does not match its schema.
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

// refuseUnknown returns an error if an object has unknown fields, which a cluster would drop.
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

// fieldsOf returns the fields of a kind.
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
