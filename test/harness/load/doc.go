// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package load has clients that use the API all the time. In goes the configuration of a cluster; each failed request becomes an error of
// the test.
package load
