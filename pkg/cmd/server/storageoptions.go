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
}

// NewStorageOptions returns the defaults.
func NewStorageOptions() *StorageOptions {
	return &StorageOptions{DataDir: defaultDataDir}
}

func (o *StorageOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.DataDir, "data-dir", o.DataDir, "The directory of this process alone: of the data of the embedded etcd, "+
		"and of the certificate that the server makes for itself. It must outlive the process. It is made if it is missing.")
	flags.Int64Var(&o.QuotaBytes, "etcd-quota-backend-bytes", o.QuotaBytes, "The size in bytes at which the database of "+
		"the embedded etcd refuses writes. It should be below half of the volume of --data-dir. 0 is etcd's default, 2 GiB.")
}

func (o *StorageOptions) validate() []error {
	var errs []error
	if o.DataDir == "" {
		errs = append(errs, errors.New("--data-dir must not be empty"))
	}
	if o.QuotaBytes < 0 {
		errs = append(errs, errors.New("--etcd-quota-backend-bytes must not be negative"))
	}
	return errs
}
