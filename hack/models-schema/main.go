// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Command models-schema prints the OpenAPI v2 definitions of the API types as JSON. applyconfiguration-gen reads from
// them which lists are maps, and by which keys. It looks for types by the path of their Go package and does not know
// +k8s:openapi-model-package, so the definitions are named after that path, given as an argument.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/openapi"
)

func main() {
	if err := writeSchema(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "models-schema: %v\n", err)
		os.Exit(1)
	}
}

func writeSchema(out io.Writer, prefix string) error {
	modelPackage := strings.TrimSuffix(v1alpha1.CompositeController{}.OpenAPIModelName(), "CompositeController")
	nameOf := func(model string) string {
		if name, ok := strings.CutPrefix(model, modelPackage); ok {
			return prefix + name
		}
		return model
	}
	definitions := openapi.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef("#/definitions/" + nameOf(name))
	})
	schemas := make(spec.Definitions, len(definitions))
	for name, definition := range definitions {
		schemas[nameOf(name)] = v2Schema(definition)
	}
	return json.NewEncoder(out).Encode(&spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger:     "2.0",
		Definitions: schemas,
		Info: &spec.Info{InfoProps: spec.InfoProps{
			Title:   "metacontroller-apiserver",
			Version: "unversioned",
		}},
	}})
}

// v2Schema returns the schema of a definition for OpenAPI v2. If the schema of a type differs between v2 and v3, the
// definition contains the v2 schema as an extension.
func v2Schema(definition common.OpenAPIDefinition) spec.Schema {
	if embedded, found := definition.Schema.Extensions[common.ExtensionV2Schema]; found {
		if schema, ok := embedded.(spec.Schema); ok {
			return schema
		}
	}
	return definition.Schema
}
