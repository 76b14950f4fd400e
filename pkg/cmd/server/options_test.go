// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
)

// parse makes completed options of a command line.
func parse(t *testing.T, args ...string) *Options {
	t.Helper()
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // also where the tests run in a cluster
	options, err := NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, section := range options.Flags().FlagSets {
		flags.AddFlagSet(section)
	}
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := options.Complete(flags.Changed); err != nil {
		t.Fatal(err)
	}
	return options
}

func TestWhatIsWrongWithOptionsIsSaid(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	writeFile(t, kubeconfig, nil)
	tests := map[string]struct {
		args []string
		want []string // parts of the message; none if the options are valid
	}{
		"a kubeconfig is all that is needed": {
			args: []string{"--kubeconfig=" + kubeconfig},
		},
		"a standalone server needs nothing": {
			args: []string{"--standalone"},
		},
		"no host": {
			want: []string{"no cluster: --kubeconfig", "--kubeconfig"},
		},
		"a kubeconfig that is not there": {
			args: []string{"--kubeconfig=/nowhere/kubeconfig"},
			want: []string{"--kubeconfig", "/nowhere/kubeconfig", "no such file"},
		},
		"standalone with a host": {
			args: []string{"--standalone", "--kubeconfig=" + kubeconfig},
			want: []string{"--standalone"},
		},
		"no data directory": {
			args: []string{"--standalone", "--data-dir="},
			want: []string{"--data-dir must not be empty"},
		},
		"what is no network": {
			args: []string{"--standalone", "--hook-deny-cidrs=10.0.0.0/8,example.com"},
			want: []string{"--hook-deny-cidrs", `"example.com"`},
		},
		"a negative quota": {
			args: []string{"--standalone", "--etcd-quota-backend-bytes=-1"},
			want: []string{"--etcd-quota-backend-bytes"},
		},
		"an etcd elsewhere": {
			args: []string{"--standalone", "--etcd-servers=https://a,https://b", "--etcd-cafile=ca.crt", "--etcd-certfile=a.crt", "--etcd-keyfile=a.key"},
		},
		"an etcd elsewhere that is not named": {
			args: []string{"--standalone", "--etcd-servers="},
			want: []string{"--etcd-servers is empty"},
		},
		"an etcd elsewhere whose names are blank": {
			args: []string{"--standalone", "--etcd-servers= , "},
			want: []string{"--etcd-servers is empty"},
		},
		"the authority of an etcd that is not named": {
			args: []string{"--standalone", "--etcd-cafile=ca.crt"},
			want: []string{"--etcd-servers is missing", "--etcd-cafile"},
		},
		"a client certificate for an etcd that is not named": {
			args: []string{"--standalone", "--etcd-certfile=a.crt", "--etcd-keyfile=a.key"},
			want: []string{"--etcd-servers is missing", "--etcd-certfile and --etcd-keyfile"},
		},
		"a quota for an etcd elsewhere": {
			args: []string{"--standalone", "--etcd-servers=https://a", "--etcd-quota-backend-bytes=1000000000"},
			want: []string{"--etcd-quota-backend-bytes and --etcd-servers"},
		},
		"the quota that follows the volume, and an etcd elsewhere": {
			args: []string{"--standalone", "--etcd-servers=https://a", "--etcd-quota-backend-bytes=0"},
		},
		"no port": {
			args: []string{"--standalone", "--secure-port=0"},
			want: []string{"--secure-port"},
		},
		"a certificate without its key": {
			args: []string{"--standalone", "--tls-cert-file=a.crt"},
			want: []string{"--tls-private-key-file"},
		},
		"a certificate in a Secret": {
			args: []string{"--kubeconfig=" + kubeconfig, "--certificate-secret=certificates"},
		},
		"a certificate in a Secret and in files": {
			args: []string{"--kubeconfig=" + kubeconfig, "--certificate-secret=certificates", "--tls-cert-file=a.crt", "--tls-private-key-file=a.key"},
			want: []string{"--certificate-secret and --tls-cert-file"},
		},
		"a certificate in a Secret of no cluster": {
			args: []string{"--standalone", "--certificate-secret=certificates"},
			want: []string{"--certificate-secret needs a cluster"},
		},
		"what no Secret can be named": {
			args: []string{"--kubeconfig=" + kubeconfig, "--certificate-secret=My_Secret"},
			want: []string{`--certificate-secret "My_Secret"`},
		},
		"a TLS version that is not secure": {
			args: []string{"--standalone", "--tls-min-version=VersionTLS11"},
			want: []string{"--tls-min-version", "VersionTLS12"},
		},
		"names that no Service can have": {
			args: []string{"--standalone", "--service-name=My.Service", "--service-namespace=-"},
			want: []string{`--service-name "My.Service"`, `--service-namespace "-"`},
		},
		"numbers that stop the controllers": {
			args: []string{"--standalone", "--workers=0", "--parallel-writes=0", "--parallel-writes-per-sync=-1", "--events-qps=0",
				"--events-burst=0", "--hook-max-response-bytes=0"},
			want: []string{"--workers must be at least 1, not 0", "--parallel-writes must", "--parallel-writes-per-sync must", "--events-qps",
				"--events-burst", "--hook-max-response-bytes"},
		},
		"either apply strategy": {
			args: []string{"--standalone", "--apply-strategy=server-side-apply", "--apply-strategy-ssa-field-manager=ours"},
		},
		"an apply strategy that there is not": {
			args: []string{"--standalone", "--apply-strategy=ServerSideApply", "--apply-strategy-ssa-field-manager="},
			want: []string{`--apply-strategy must be dynamic-apply or server-side-apply, not "ServerSideApply"`, "--apply-strategy-ssa-field-manager must be 1 to 128 printable characters"},
		},
		"numbers below zero": {
			args: []string{"--standalone", "--client-go-burst=-1", "--discovery-interval=-1s"},
			want: []string{"--client-go-qps and --client-go-burst", "--cache-flush-interval and --discovery-interval"},
		},
		"a lock that there is not": {
			args: []string{"--standalone", "--leader-election-resource-lock=configmaps"},
			want: []string{`--leader-election-resource-lock "configmaps": only "leases" is possible`},
		},
		"plain addresses that are none": {
			args: []string{"--standalone", "--metrics-address=9999", "--health-probe-bind-address=localhost", "--pprof-address="},
			want: []string{"--metrics-address", "9999", "--health-probe-bind-address", "localhost", "--pprof-address", "0 for none"},
		},
		"a selector that is none": {
			args: []string{"--standalone", "--target-label-selector=a=b=c"},
			want: []string{"--target-label-selector"},
		},
		"a lease that no cluster can have": {
			args: []string{"--standalone", "--leader-election", "--leader-election-id=A", "--leader-election-namespace=B.c"},
			want: []string{`--leader-election-id "A"`, `--leader-election-namespace "B.c"`},
		},
		"a plugin that there is not": {
			args: []string{"--kubeconfig=" + kubeconfig, "--enable-admission-plugins=PodSecurity"},
			want: []string{"PodSecurity"},
		},
		"all that is wrong is said at once": {
			args: []string{"--workers=0", "--data-dir=", "--secure-port=0"},
			want: []string{"no cluster: --kubeconfig", "--workers", "--data-dir", "--secure-port"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := parse(t, test.args...).Validate()
			if len(test.want) == 0 && err != nil {
				t.Errorf("unexpected error: %v", err)
			}
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v does not say %q", err, want)
				}
			}
		})
	}
}

func TestOptionsThatFollowFromOthers(t *testing.T) {
	tests := map[string]struct {
		args  []string
		check func(t *testing.T, o *Options)
	}{
		"the kubeconfig is used for everything": {
			args: []string{"--kubeconfig=a"},
			check: func(t *testing.T, o *Options) {
				want(t, "authentication", o.Recommended.Authentication.RemoteKubeConfigFile, "a")
				want(t, "authorization", o.Recommended.Authorization.RemoteKubeConfigFile, "a")
			},
		},
		"other kubeconfigs are kept": {
			args: []string{"--kubeconfig=a", "--authentication-kubeconfig=b", "--authorization-kubeconfig=c"},
			check: func(t *testing.T, o *Options) {
				want(t, "authentication", o.Recommended.Authentication.RemoteKubeConfigFile, "b")
				want(t, "authorization", o.Recommended.Authorization.RemoteKubeConfigFile, "c")
			},
		},
		"hooks may not be where clouds give credentials": {
			check: func(t *testing.T, o *Options) {
				want(t, "denied networks", strings.Join(o.Controllers.Hooks.Denied.Strings(), " "),
					"169.254.0.0/16 fe80::/10 fd00:ec2::254/128 fd00:ec2::23/128 168.63.129.16/32 100.100.100.200/32 "+
						"192.0.0.192/32 fd20:ce::254/128 fd00:42::42/128")
			},
		},
		"hooks may not be where it is said": {
			args: []string{"--hook-deny-cidrs=10.0.0.0/8", "--hook-deny-cidrs=fd00::/8"},
			check: func(t *testing.T, o *Options) {
				want(t, "denied networks", strings.Join(o.Controllers.Hooks.Denied.Strings(), " "), "10.0.0.0/8 fd00::/8")
			},
		},
		"hooks may be anywhere": {
			args: []string{"--hook-deny-cidrs="},
			check: func(t *testing.T, o *Options) {
				want(t, "denied networks", len(o.Controllers.Hooks.Denied), 0)
			},
		},
		"certificates are kept with the data": {
			args: []string{"--data-dir=/data"},
			check: func(t *testing.T, o *Options) {
				want(t, "directory", o.Recommended.SecureServing.ServerCert.CertDirectory, "/data/pki")
			},
		},
		"certificates are kept elsewhere": {
			args: []string{"--data-dir=/data", "--cert-dir=/certs"},
			check: func(t *testing.T, o *Options) {
				want(t, "directory", o.Recommended.SecureServing.ServerCert.CertDirectory, "/certs")
			},
		},
		"a server with its own storage is the only one": {
			check: func(t *testing.T, o *Options) {
				want(t, "shutdown delay", o.ServerRun.ShutdownDelayDuration, 0)
				want(t, "goaway chance", o.ServerRun.GoawayChance, 0)
				want(t, "HTTP/1.1 only", o.Recommended.SecureServing.DisableHTTP2Serving, false)
			},
		},
		"servers with a shared storage may be several": {
			args: []string{"--etcd-servers=https://a", "--service-namespace=ours"},
			check: func(t *testing.T, o *Options) {
				want(t, "shutdown delay", o.ServerRun.ShutdownDelayDuration, shutdownDelay)
				want(t, "goaway chance", o.ServerRun.GoawayChance, goawayChance)
				want(t, "HTTP/1.1 only", o.Recommended.SecureServing.DisableHTTP2Serving, true)
				want(t, "leader election", o.Controllers.LeaderElection, true)
				want(t, "namespace of the Lease", o.Controllers.LeaseNamespace, "ours")
			},
		},
		"what was said holds": {
			args: []string{"--etcd-servers=https://a", "--shutdown-delay-duration=1s", "--goaway-chance=0", "--disable-http2-serving=false",
				"--leader-election=false", "--leader-election-namespace=theirs"},
			check: func(t *testing.T, o *Options) {
				want(t, "shutdown delay", o.ServerRun.ShutdownDelayDuration, time.Second)
				want(t, "goaway chance", o.ServerRun.GoawayChance, 0)
				want(t, "HTTP/1.1 only", o.Recommended.SecureServing.DisableHTTP2Serving, false)
				want(t, "leader election", o.Controllers.LeaderElection, false)
				want(t, "namespace of the Lease", o.Controllers.LeaseNamespace, "theirs")
			},
		},
		"flags have the defaults of Metacontroller": {
			check: func(t *testing.T, o *Options) {
				want(t, "workers", o.Controllers.Workers, 5)
				want(t, "events QPS", o.Controllers.Events.QPS, 1./300)
				want(t, "events burst", o.Controllers.Events.Burst, 25)
				want(t, "target label selector", o.Controllers.TargetLabelSelector, "")
				want(t, "name of the Lease", o.Controllers.LeaseName, "metacontroller-apiserver")
				want(t, "cache flush interval", o.Controllers.CacheFlushInterval, 30*time.Minute)
				want(t, "discovery interval", o.Controllers.DiscoveryInterval, 30*time.Second)
			},
		},
		"the developer's mode raises the limits of events": {
			args: []string{"--developer-mode"},
			check: func(t *testing.T, o *Options) {
				want(t, "developer's mode", o.Controllers.DeveloperMode, true)
				want(t, "events", o.Controllers.Events, controller.DeveloperEvents())
			},
		},
		"it leaves those that were given": {
			args: []string{"--developer-mode", "--events-qps=2", "--events-burst=3"},
			check: func(t *testing.T, o *Options) {
				want(t, "events QPS", o.Controllers.Events.QPS, 2)
				want(t, "events burst", o.Controllers.Events.Burst, 3)
			},
		},
		"requests to the host are not limited here": {
			check: func(t *testing.T, o *Options) { want(t, "limits", o.Controllers.Client, controller.ClientLimits{}) },
		},
		"requests to the host are limited if wanted": {
			args: []string{"--client-go-qps=50"},
			check: func(t *testing.T, o *Options) {
				want(t, "limits", o.Controllers.Client, controller.ClientLimits{QPS: 50, Burst: 10})
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.check(t, parse(t, test.args...))
		})
	}
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
