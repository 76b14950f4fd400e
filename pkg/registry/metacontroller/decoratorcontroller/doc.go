// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decoratorcontroller stores DecoratorControllers. It describes the kind to package
// resource, which makes its REST storage: its resource, content and validation, and the fields that fill the columns of
// resource/controllertable.go. It touches only the storage that it is given.
package decoratorcontroller
