// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// web is the key of a parent.
func web(name string) object.Key {
	return object.Key{GroupKind: schema.GroupKind{Group: "ctl.example", Kind: "Web"}, NamespacedName: types.NamespacedName{Namespace: "default", Name: name}}
}

// snapshotOf begins the snapshot of a parent.
func snapshotOf(name string) *pipeline.Snapshot {
	return &pipeline.Snapshot{Parent: &object.Object{
		TypeMeta:   metav1.TypeMeta{APIVersion: "ctl.example/v1", Kind: "Web"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
	}}
}

func configMap(t *testing.T, name, metadata string) *object.Object {
	t.Helper()
	o, err := object.Parse(fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"default",%s}}`, name, metadata))
	if err != nil {
		t.Fatal(err)
	}
	return o
}
