// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"flag"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/test/faults/proxy"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

var (
	env *harness.Env
	// upstream is how proxies reach the host and our API.
	upstream *proxy.Upstream
	// played counts the runs.
	played atomic.Int64
)

// The server only serves its API here: it runs no controllers. Those run in the processes of the
// tests.
func TestMain(m *testing.M) {
	silence()
	began := time.Now()
	code := harness.Main(m, func(e *harness.Env) {
		env = e
		if err := prepare(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}, "--target-label-selector=runs=elsewhere")
	fmt.Printf("%d runs in %s\n", played.Load(), time.Since(began).Round(time.Second))
	os.Exit(code)
}

// silence discards what client-go logs in this program. Processes have logs of their own.
func silence() {
	flags := flag.NewFlagSet("", flag.PanicOnError)
	klog.InitFlags(flags)
	_ = flags.Set("logtostderr", "false")
	_ = flags.Set("stderrthreshold", "FATAL")
	klog.SetOutput(io.Discard)
}

// prepare connects to the API servers.
func prepare() error {
	host, err := env.Host.RESTConfig(harness.ServerUser, "system:serviceaccounts", "system:authenticated")
	if err != nil {
		return err
	}
	own, err := env.Host.RESTConfig("own-controllers", "system:masters")
	if err != nil {
		return err
	}
	upstream, err = proxy.NewUpstream(host, own)
	return err
}

// sharedTypesOf returns the types of parents and children. All runs share them.
func sharedTypesOf(t testing.TB) *sharedTypes {
	t.Helper()
	installOnce.Do(func() { installed = install(t) })
	if installed == nil {
		t.Fatal("the types were not installed")
	}
	return installed
}
