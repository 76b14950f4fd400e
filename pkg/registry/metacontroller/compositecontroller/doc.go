// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package compositecontroller stores CompositeControllers. It describes the kind to package
// resource, which makes the REST storage of it: kind.go names its resource, content and validation,
// and columns.go which of its fields fill the
// columns, which resource/controllercolumns.go has. It touches nothing but the storage that it is given.
package compositecontroller
