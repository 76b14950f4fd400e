// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// embedded reports whether the storage is inside this process.
func (o *Options) embedded() bool {
	return len(o.Recommended.Etcd.StorageConfig.Transport.ServerList) == 0
}

// validateExternalEtcd returns an error if the flags do not say clearly which etcd keeps the objects. A server that
// took the one inside the process by mistake would begin with no objects.
func (o *Options) validateExternalEtcd() []error {
	certificates := o.etcdCertificates()
	switch {
	case o.etcdServersGiven && o.blankServers():
		return []error{errors.New("--etcd-servers is empty: give the URLs of the etcd, " +
			"or leave the flag out to have one inside this process")}
	case o.embedded() && len(certificates) > 0:
		return []error{fmt.Errorf("--etcd-servers is missing: give the URLs of the etcd of %s, or leave out these flags, too, "+
			"to have one inside this process", strings.Join(certificates, " and "))}
	case !o.embedded() && o.Storage.QuotaBytes != 0:
		return []error{errors.New("--etcd-quota-backend-bytes and --etcd-servers cannot be used together: " +
			"leave out the quota here, and give it to the etcd itself")}
	}
	return nil
}

// blankServers reports whether --etcd-servers has no URL.
func (o *Options) blankServers() bool {
	return strings.TrimSpace(strings.Join(o.Recommended.Etcd.StorageConfig.Transport.ServerList, "")) == ""
}

// etcdCertificates returns the flags with the files of an external etcd that are set.
func (o *Options) etcdCertificates() []string {
	transport := o.Recommended.Etcd.StorageConfig.Transport
	var set []string
	for _, flag := range []struct{ name, value string }{
		{"--etcd-cafile", transport.TrustedCAFile},
		{"--etcd-certfile", transport.CertFile},
		{"--etcd-keyfile", transport.KeyFile},
	} {
		if flag.value != "" {
			set = append(set, flag.name)
		}
	}
	return set
}

// nameEtcd adds the external etcd to an error of the start that says only that a deadline has passed. The log has the
// reason.
func (o *Options) nameEtcd(err error) error {
	if o.embedded() || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("the etcd of --etcd-servers=%s does not answer, or does not accept the certificate: %w",
		strings.Join(o.Recommended.Etcd.StorageConfig.Transport.ServerList, ","), err)
}
