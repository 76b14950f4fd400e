// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"

	"github.com/spf13/pflag"
)

// Command lines of Metacontroller 4.17 go on working, except the flags of its logs.
func TestFlagsOfMetacontrollerAreKnown(t *testing.T) {
	taken := []string{
		"--kubeconfig=/etc/kubeconfig", "--discovery-interval=20s", "--cache-flush-interval=30m", "--workers=5",
		"--client-go-qps=5", "--client-go-burst=10", "--events-qps=0.0033", "--events-burst=25",
		"--metrics-address=:9999", "--health-probe-bind-address=:8081", "--pprof-address=0",
		"--leader-election=true", "--leader-election-resource-lock=leases", "--leader-election-namespace=metacontroller",
		"--leader-election-id=metacontroller", "--target-label-selector=a=b",
		"--apply-strategy=server-side-apply", "--apply-strategy-ssa-field-manager=metacontroller",
	}
	for _, flag := range taken {
		t.Run(flag, func(t *testing.T) { parse(t, flag) })
	}
	for name := range removedFlags() {
		t.Run(name, func(t *testing.T) {
			options, err := NewOptions()
			if err != nil {
				t.Fatal(err)
			}
			for _, section := range options.Flags().FlagSets {
				if section.Lookup(name) != nil {
					t.Errorf("--%s is said to be no more, and there is one", name)
				}
			}
		})
	}
	for _, name := range []string{"zap-devel", "zap-encoder", "zap-log-level", "zap-stacktrace-level", "zap-time-encoding"} {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		err := flags.Parse([]string{"--" + name})
		if explained := explainFlag(err); len(explained.Error()) < len(err.Error())+20 {
			t.Errorf("nobody is told what to do instead of --%s: %v", name, explained)
		}
	}
}
