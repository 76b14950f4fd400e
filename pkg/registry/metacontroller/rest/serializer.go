// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// textOnly offers the serializers of a codec factory that write text, JSON and YAML. The types of the group have no
// protobuf form; to a client that asks for protobuf first and JSON second, offering it would be a promise to break.
type textOnly struct {
	serializer.CodecFactory
}

// SupportedMediaTypes lists the media types to negotiate about.
func (t textOnly) SupportedMediaTypes() []runtime.SerializerInfo {
	return slices.DeleteFunc(slices.Clone(t.CodecFactory.SupportedMediaTypes()), func(info runtime.SerializerInfo) bool {
		return !info.EncodesAsText
	})
}
