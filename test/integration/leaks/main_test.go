// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leaks tests that deleted controllers leave no goroutines, watches, connections or memory behind. Its tests do
// not run in parallel, and other tests are in other packages, because the goroutines of their controllers would count.
package leaks

import (
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

type object = harness.Object

var env *harness.Env

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, func(e *harness.Env) { env = e }))
}

// configMap returns the ConfigMap of a parent: it holds the parent's spec.value.
func configMap(parent *unstructured.Unstructured) object {
	value, _, _ := unstructured.NestedString(parent.Object, "spec", "value")
	return hook.ConfigMap(parent.GetName(), object{"value": value})
}
