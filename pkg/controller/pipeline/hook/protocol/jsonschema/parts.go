// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonschema

// observed is an object of a cluster, in a request.
func observed() *Schema {
	return &Schema{
		Type:        "object",
		Description: "An object of the cluster, without metadata.managedFields.",
		Properties: map[string]*Schema{
			"apiVersion": text(""),
			"kind":       text(""),
			"metadata":   {Type: "object", Properties: map[string]*Schema{"name": text(""), "namespace": text("")}, Required: []string{"name"}},
		},
		Required: []string{"apiVersion", "kind", "metadata"},
	}
}

// groups are objects by type, and then by key.
func groups() *Schema {
	return &Schema{
		Type:          "object",
		Description:   `Objects by type, such as "Pod.v1" and "Deployment.apps/v1", and then by key.`,
		PropertyNames: &Schema{Pattern: `^[A-Za-z0-9]+\.([a-z0-9.-]+/)?[a-z0-9]+$`},
		AdditionalProperties: &Schema{
			Type:                 "object",
			PropertyNames:        &Schema{Pattern: `^[^/]+(/[^/]+)?$`},
			AdditionalProperties: reference("object", ""),
		},
	}
}

// desired is a child in an answer.
func desired() *Schema {
	return &Schema{
		Type:        "object",
		Description: "An object that should exist, with the fields that matter to the hook.",
		Properties: map[string]*Schema{
			"apiVersion": {Type: "string", MinLength: 1},
			"kind":       {Type: "string", MinLength: 1},
			"metadata": {
				Type:       "object",
				Properties: map[string]*Schema{"name": {Type: "string", MinLength: 1}, "namespace": text("")},
				Required:   []string{"name"},
			},
		},
		Required: []string{"apiVersion", "kind", "metadata"},
	}
}

func event() *Schema {
	name := func() *Schema { return &Schema{Type: "string", MinLength: 1} }
	return &Schema{
		Type: "object",
		Properties: map[string]*Schema{
			"type":    {Type: "string", Enum: []string{"", "Normal", "Warning"}, Description: "Normal if it is absent."},
			"reason":  {Type: "string", Pattern: `^[A-Z][A-Za-z0-9]{0,127}$`, Description: "A word in CamelCase."},
			"message": name(),
			"child": {
				Type:        orNull("object"),
				Description: "The child that the event is about.",
				Properties:  map[string]*Schema{"apiVersion": name(), "kind": name(), "namespace": text(""), "name": name()},
				Required:    []string{"apiVersion", "kind", "name"},
			},
		},
		Required: []string{"reason", "message"},
	}
}

// rule is a rule for related objects.
func rule() *Schema {
	s := object("", map[string]*Schema{
		"apiVersion":        {Type: "string", MinLength: 1, Description: `Such as "v1" and "apps/v1".`},
		"resource":          {Type: "string", MinLength: 1, Description: `The plural, such as "configmaps".`},
		"namespace":         text("Only objects in this namespace."),
		"names":             {Type: orNull("array"), Items: text(""), Description: "Only objects with these names."},
		"labelSelector":     reference("selector", "Only objects with these labels."),
		"namespaceSelector": reference("selector", "Only objects in namespaces with these labels."),
	}, "apiVersion", "resource")
	with := func(field string, value *Schema) *Schema {
		return &Schema{Properties: map[string]*Schema{field: value}, Required: []string{field}}
	}
	some, any := &Schema{Type: "array", MinItems: 1}, &Schema{Type: "object"}
	never := func(one, other *Schema) *Schema { return &Schema{Not: &Schema{AllOf: []*Schema{one, other}}} }
	s.AllOf = []*Schema{
		never(with("names", some), with("labelSelector", any)),
		never(with("names", some), with("namespaceSelector", any)),
		never(with("namespace", &Schema{Type: "string", MinLength: 1}), with("namespaceSelector", any)),
	}
	return s
}

// selector is a label selector of Kubernetes.
func selector() *Schema {
	return &Schema{
		Type: orNull("object"),
		Properties: map[string]*Schema{
			"matchLabels": {Type: orNull("object"), AdditionalProperties: text("")},
			"matchExpressions": {
				Type: orNull("array"),
				Items: object("", map[string]*Schema{
					"key":      text(""),
					"operator": {Type: "string", Enum: []string{"In", "NotIn", "Exists", "DoesNotExist"}},
					"values":   {Type: orNull("array"), Items: text("")},
				}, "key", "operator"),
			},
		},
	}
}
