// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server is the command metacontroller-apiserver. It turns flags into a server that runs until a signal stops
// it. No other package of the server knows flags, the environment and signals.
//
// The steps are the same as in Kubernetes' own servers: NewCommand makes Options from flags, Complete fills in the
// settings that follow from others, Validate checks them, and Run makes the configuration of a server (config.go)
// and runs it. Run starts the embedded etcd, the API server and the controllers, in this order, and stops them in
// reverse. Before controllers run, the storage is claimed for the cluster (storageidentity.go).
//
// A flag is in the file of the options that it sets: controlleroptions.go, storage.go, certificateoptions.go,
// plainhttp.go, or command.go for the options of Kubernetes' libraries.
package server
