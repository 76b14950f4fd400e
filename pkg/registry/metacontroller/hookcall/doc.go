// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hookcall serves HookCalls, the last calls of the hooks of controllers. It describes the kind to package live,
// which makes its REST storage: its resource, the supported field selectors, and what kubectl get prints. A reader of one
// call gets its bodies, and needs the rights to the objects in them.
package hookcall
