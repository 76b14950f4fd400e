// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rest makes the API group of the migration, as the server installs it.
package rest
