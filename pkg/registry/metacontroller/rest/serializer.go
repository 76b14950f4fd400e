// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// textOnly is a codec factory that offers only the serializers of text, JSON and YAML. The types of
// the group have no protobuf form. If protobuf were offered, a client that accepts protobuf first
// and JSON second would get an error.
type textOnly struct {
	serializer.CodecFactory
}

// SupportedMediaTypes returns the media types to negotiate.
func (t textOnly) SupportedMediaTypes() []runtime.SerializerInfo {
	return slices.DeleteFunc(slices.Clone(t.CodecFactory.SupportedMediaTypes()), func(info runtime.SerializerInfo) bool {
		return !info.EncodesAsText
	})
}
