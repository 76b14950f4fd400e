// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rest puts the REST storage of all kinds together into the API group that the server
// installs. It takes the scheme and the options of the storage, and returns the group. It opens the
// storage.
package rest
