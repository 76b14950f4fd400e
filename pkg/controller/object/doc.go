// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package object keeps an object of the host cluster as the JSON it arrived in, compressed if it is
// large.
//
// It parses JSON into an Object: the bytes, and besides them only what decisions need, the parsed metadata and a hash
// of the content. Requests to hooks are assembled from the bytes, and nothing is decoded without need. The package is
// pure: it does no I/O. An Object is immutable.
//
// Parse and a Reader make objects; a Reader shares equal parts among them. Lookup, Members, Elements
// and WithMember read and change JSON without decoding it. A Key names an object, and a Type is a
// resource of the host.
package object
