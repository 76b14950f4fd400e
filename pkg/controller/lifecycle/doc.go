// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle turns CompositeController and DecoratorController objects into running hosted
// controllers, and keeps the status of these objects.
package lifecycle
