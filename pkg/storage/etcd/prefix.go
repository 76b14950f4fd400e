// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"path"
	"strings"
)

// KeyPrefix returns what the keys of all objects begin with, for the prefix that a server is given. The API server
// makes the same of it: a prefix may be written with or without a slash at either end.
func KeyPrefix(prefix string) string {
	return strings.TrimSuffix(path.Join("/", prefix), "/") + "/"
}
