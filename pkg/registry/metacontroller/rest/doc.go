// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rest puts the REST storage of all kinds together into the API group that the server
// installs. In go the scheme and the options of the storage; out comes the group. It opens the
// storage.
package rest
