// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decorators holds the conformance tests of DecoratorControllers. These cannot choose how
// their attachments are written; the process does. So test/conformance runs the tests with a server
// that uses dynamic apply, and test/conformance/flags with one that uses server-side apply.
package decorators
