// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hookaddress interprets the address of a hook. From the fields of a webhook in the spec of a
// controller, it computes
//
//   - [Address]: the URL that the webhook is called at, made of its url, or of its service and path;
//   - [MatchesHost]: whether an entry of endpointConfigs is for that URL;
//   - [Redact], [RedactText] and [WithoutSecrets]: what may be shown of it;
//   - [Denied]: the networks that hooks may not be in;
//   - [CASources]: which sources of a CA bundle are set.
//
// The package is pure and imports nothing of this module.
package hookaddress
