// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact keeps secrets out of what users see. It is pure.
//
//   - A [Redactor] blanks the values of Secrets and the credentials in what logs, errors and HookCalls show of
//     one call of a hook.
//   - A [Concealer] replaces the values of Secrets in previews by digests. Equal values have equal digests, so a
//     preview shows whether a value changes. Only this process has the key of the digests, so users cannot find
//     a value by trying.
package redact
