// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"syscall"

	"k8s.io/client-go/rest"
)

// address is where the server listens, and how the cluster's kube-apiserver finds it there.
type address struct {
	bindAddress  string
	externalName string
}

// addressFor returns a loopback address if the cluster's kube-apiserver is on loopback too.
// Otherwise it is the address from which we reach kube-apiserver. With an external name the server
// listens on all addresses: a kube-apiserver in a container, whose port is forwarded to loopback,
// needs that.
func addressFor(cluster *rest.Config, externalName string) (address, error) {
	if externalName != "" {
		return address{bindAddress: "0.0.0.0", externalName: externalName}, nil
	}
	server, _, err := rest.DefaultServerUrlFor(cluster)
	if err != nil {
		return address{}, fmt.Errorf("read the cluster's address: %w", err)
	}
	local, err := localAddress(server)
	if err != nil {
		return address{}, fmt.Errorf("find our address as seen by the cluster at %s: %w", server.Host, err)
	}
	switch {
	case local.IsLoopback():
		return address{bindAddress: "127.0.0.1", externalName: "localhost"}, nil
	case local.To4() == nil:
		return address{}, fmt.Errorf("the cluster at %s is reached from the IPv6 address %s, which a Service cannot name: "+
			"give a DNS name (EXTERNAL_NAME=...)", server.Host, local)
	default:
		return address{bindAddress: local.String(), externalName: local.String()}, nil
	}
}

// checkPort returns an error if the server cannot listen on a port. Otherwise what listens there would be taken for the server,
// and be asked for the server's certificate.
func checkPort(bindAddress string, port int) error {
	listener, err := net.Listen("tcp", net.JoinHostPort(bindAddress, strconv.Itoa(port)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("port %d of %s is taken by another program, maybe by another 'make run': end that, or take another port (PORT=...)", port, bindAddress)
	case err != nil:
		return fmt.Errorf("the server cannot listen on port %d of %s: %w", port, bindAddress, err)
	}
	return listener.Close()
}

// localAddress asks the system for its route; a UDP "connection" sends nothing.
func localAddress(server *url.URL) (net.IP, error) {
	port := server.Port()
	if port == "" {
		port = server.Scheme
	}
	conn, err := net.Dial("udp", net.JoinHostPort(server.Hostname(), port))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).IP, nil
}
