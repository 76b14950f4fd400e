// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conceal shows objects without the values of Secrets.
//
// JSON comes in and goes out with digests in the place of the values. Equal values have equal digests, so that
// it can be seen whether a value changes. Who has a digest cannot find out the value by trying: the key of
// the digests is known to this process alone. The package is pure.
package conceal
