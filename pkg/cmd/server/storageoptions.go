// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"

	"github.com/spf13/pflag"
)

// StorageOptions are the settings of the embedded etcd.
type StorageOptions struct {
	// DataDir is the directory of the data. No other process may use it.
	DataDir string
	// QuotaBytes is the size of the database at which writes are refused; 0 is etcd's default, 2 GiB.
	QuotaBytes int64
	// MaxObjectBytes is how many bytes of JSON an object may have, and MaxControllersPerNamespace how many controllers
	// may have service accounts in one namespace or be limited to it.
	MaxObjectBytes             int
	MaxControllersPerNamespace int
}

// NewStorageOptions returns the defaults.
func NewStorageOptions() *StorageOptions {
	return &StorageOptions{DataDir: defaultDataDir, MaxObjectBytes: 512 << 10, MaxControllersPerNamespace: 100}
}

func (o *StorageOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.DataDir, "data-dir", o.DataDir, "The directory of this process alone: of the data of the embedded etcd, "+
		"and of the certificate that the server makes for itself. It must outlive the process. It is made if it is missing.")
	flags.Int64Var(&o.QuotaBytes, "etcd-quota-backend-bytes", o.QuotaBytes, "The size in bytes at which the database of "+
		"the embedded etcd refuses writes. It should be below half of the volume of --data-dir. 0 is etcd's default, 2 GiB.")
	flags.IntVar(&o.MaxObjectBytes, "max-object-bytes", o.MaxObjectBytes, "How many bytes of JSON a controller or a "+
		"ControllerRevision may have. What is stored already may stay as large as it is.")
	flags.IntVar(&o.MaxControllersPerNamespace, "max-controllers-per-namespace", o.MaxControllersPerNamespace,
		"How many controllers may have a spec.serviceAccount in one namespace or, without an account, be limited to it by "+
			"spec.namespaces. Controllers with neither are not counted.")
}

func (o *StorageOptions) validate() []error {
	var errs []error
	if o.DataDir == "" {
		errs = append(errs, errors.New("--data-dir must not be empty"))
	}
	if o.MaxObjectBytes < 1 || o.MaxControllersPerNamespace < 1 {
		errs = append(errs, errors.New("--max-object-bytes and --max-controllers-per-namespace must be at least 1"))
	}
	if o.QuotaBytes < 0 {
		errs = append(errs, errors.New("--etcd-quota-backend-bytes must not be negative"))
	}
	return errs
}
