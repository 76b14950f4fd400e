// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package load has clients that use the API all the time. They take the configuration of a cluster. Each failed request
// becomes an error of the test.
package load
