// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// snapshotOf begins the snapshot of a parent.
func snapshotOf(name string) *pipeline.Snapshot {
	return &pipeline.Snapshot{Parent: &object.Object{
		TypeMeta:   metav1.TypeMeta{APIVersion: "ctl.example/v1", Kind: "Web"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
	}}
}
