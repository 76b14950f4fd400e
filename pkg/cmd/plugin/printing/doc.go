// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package printing shows to people what the API has answered: writes as a diff, and numbers in words. Colours are
// only beside what the text says anyway.
package printing
