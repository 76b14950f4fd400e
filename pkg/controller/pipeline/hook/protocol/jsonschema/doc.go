// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonschema describes what hooks are sent and what they answer as JSON Schemas, one for each
// message of each version of the protocol. test/corpus holds them to package protocol.
package jsonschema
