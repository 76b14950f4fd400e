// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imports serves Imports: objects of metacontroller.k8s.io that come from another server. In goes an Import with an
// object; the object is written below the strategy of its kind, by an Importer of package resource. For each one a record
// is stored, which says from which version of the other server it came, and what it was like.
//
// What is to be done is decided by a pure function of what there is (decide.go). Who may create Imports is an administrator: the
// rights of the author of a controller are not asked for.
package imports
