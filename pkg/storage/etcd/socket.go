// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

const (
	socketName = "client.sock"

	// maxSocketPath is the maximum length of the path of a unix socket on all supported systems.
	// sun_path has 104 bytes on BSDs and 108 on Linux, and one of them is the terminating zero.
	maxSocketPath = 103
)

// clientSocket is the unix socket that etcd listens at for its only client, the API server.
type clientSocket struct {
	path string
	// ownDir is a temporary directory for the socket alone, or "" if the socket is in the data
	// directory.
	ownDir string
}

// newClientSocket puts the socket into etcd's directory, or into a short private directory if that
// path is too long.
func newClientSocket(etcdDir string) (*clientSocket, error) {
	path := filepath.Join(etcdDir, socketName)
	if len(path) <= maxSocketPath {
		return &clientSocket{path: path}, nil
	}
	dir, err := os.MkdirTemp("", "etcd-") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("making a directory for the socket of etcd (%s is longer than the %d bytes a socket path may have): %w",
			path, maxSocketPath, err)
	}
	path = filepath.Join(dir, socketName)
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("no place for the socket of etcd: %s and %s are longer than the %d bytes a socket path may have; "+
			"use a shorter data directory or set TMPDIR to a shorter one", filepath.Join(etcdDir, socketName), path, maxSocketPath)
	}
	return &clientSocket{path: path, ownDir: dir}, nil
}

func (s *clientSocket) url() url.URL {
	return url.URL{Scheme: "unix", Path: s.path}
}

func (s *clientSocket) remove() error {
	if s.ownDir == "" {
		return nil
	}
	return os.RemoveAll(s.ownDir)
}
