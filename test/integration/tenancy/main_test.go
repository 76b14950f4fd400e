// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"flag"
	"os"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

var (
	env    *harness.Env
	update = flag.Bool("update", false, "write what the commands of testdata/attempts print into these files")
)

func TestMain(m *testing.M) {
	os.Exit(harness.MainForTenants(m, func(e *harness.Env) { env = e }, "--require-service-account"))
}
