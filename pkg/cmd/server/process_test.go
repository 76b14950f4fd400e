// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	harness "github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

// process is the command as a process of its own.
type process struct {
	testServer
	command *exec.Cmd
	output  *bytes.Buffer
}

// startProcess starts the command and returns when it is ready.
func startProcess(t *testing.T, dataDir string, args ...string) *process {
	t.Helper()
	p := &process{output: &bytes.Buffer{}}
	p.dataDir = dataDir
	p.address = freeAddress(t)
	_, port, err := net.SplitHostPort(p.address)
	if err != nil {
		t.Fatal(err)
	}
	p.command = command(p.output, append([]string{"--standalone", "--data-dir=" + dataDir, "--bind-address=127.0.0.1", "--secure-port=" + port}, args...)...)
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		_ = p.command.Wait()
		if t.Failed() {
			t.Logf("output of the process:\n%s", p.output)
		}
	})
	eventually(t, func() error {
		if err := holdsCertificate(p.caFile()); err != nil {
			return err
		}
		_, _, err := get(t, p.anonymous(t), p.url("/readyz"), http.StatusOK)
		return err
	})
	return p
}

func command(output *bytes.Buffer, args ...string) *exec.Cmd {
	command := exec.Command(os.Args[0], args...)
	command.Env = append(os.Environ(), asCommand+"=1", "KUBERNETES_SERVICE_HOST=")
	command.Stdout, command.Stderr = output, output
	return command
}

// freeAddress returns an address without a listener. It is outside the range of ports that the
// system gives to outgoing connections, because there are many of these.
func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := harness.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

func (p *process) signal(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := p.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// exitCode waits until the process ends.
func (p *process) exitCode(t *testing.T) int {
	t.Helper()
	var exit *exec.ExitError
	if err := p.command.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return p.command.ProcessState.ExitCode()
}

func TestASignalStopsTheProcessWithoutAnError(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			p := startProcess(t, newDataDir(t))
			p.signal(t, signal)
			want(t, "exit code", p.exitCode(t), 0)
		})
	}
}

func TestASecondSignalEndsTheProcessAtOnce(t *testing.T) {
	p := startProcess(t, newDataDir(t), "--shutdown-delay-duration=1h")
	p.signal(t, syscall.SIGTERM)
	eventually(t, func() error { // it has begun to stop
		_, _, err := get(t, p.anonymous(t), p.url("/readyz"), http.StatusInternalServerError)
		return err
	})
	p.signal(t, syscall.SIGTERM)
	want(t, "exit code", p.exitCode(t), 1)
}

// So no client is left on a connection when the server closes it.
func TestClientsLeaveAServerThatStops(t *testing.T) {
	p := startProcess(t, newDataDir(t), "--shutdown-delay-duration=1h", "--disable-http2-serving")
	closes := func() (bool, error) {
		response, err := p.anonymous(t).Get(p.url("/livez"))
		if err != nil {
			return false, err
		}
		return response.Close, response.Body.Close()
	}
	if asked, err := closes(); err != nil || asked {
		t.Errorf("before the server stops, a client is asked to connect again: %v, %v", asked, err)
	}
	p.signal(t, syscall.SIGTERM)
	eventually(t, func() error {
		asked, err := closes()
		if err == nil && !asked {
			err = errors.New("a client is not asked to connect again")
		}
		return err
	})
	p.signal(t, syscall.SIGTERM)
	want(t, "exit code", p.exitCode(t), 1)
}

func TestKilledProcessesLoseNothingThatTheyAcknowledged(t *testing.T) {
	clients := newClientAuthority(t)
	dataDir := newDataDir(t)
	const kills, writesBeforeKill = 3, 20
	var acknowledged []string
	for kill := range kills {
		p := startProcess(t, dataDir, "--client-ca-file="+clients.file)
		controllers := p.clientset(t, clients.admin(t)).MetacontrollerV1alpha1().CompositeControllers()
		for i := range writesBeforeKill {
			name := "c-" + strconv.Itoa(kill) + "-" + strconv.Itoa(i)
			if _, err := controllers.Create(t.Context(), newController(name), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			acknowledged = append(acknowledged, name)
		}
		p.signal(t, syscall.SIGKILL)
		p.exitCode(t)
	}

	server := start(t, serverConfig{dataDir: dataDir, clientCA: clients.file})
	list, err := server.clientset(t, clients.admin(t)).MetacontrollerV1alpha1().CompositeControllers().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "number of objects", len(list.Items), len(acknowledged))
}

func TestErrorsOfTheCommandAreReadable(t *testing.T) {
	busy := startProcess(t, newDataDir(t))
	_, busyPort, err := net.SplitHostPort(busy.address)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args []string
		want []string
	}{
		"no host": {
			want: []string{"no cluster: --kubeconfig"},
		},
		"a flag that there is not": {
			args: []string{"--zip-devel"},
			want: []string{"unknown flag: --zip-devel", "--help lists the flags"},
		},
		"a flag that there is no more": {
			args: []string{"--zap-log-level=4"},
			want: []string{"unknown flag: --zap-log-level", "-v with the same number"},
		},
		"a plain address in use": {
			args: []string{"--standalone", "--data-dir=" + newDataDir(t), "--bind-address=127.0.0.1", "--secure-port=" + strings.TrimPrefix(freeAddress(t), "127.0.0.1:"),
				"--metrics-address=127.0.0.1:" + busyPort},
			want: []string{"--metrics-address", "address already in use"},
		},
		"an argument": {
			args: []string{"serve"},
			want: []string{`unknown command "serve"`},
		},
		"a data directory in use": {
			args: []string{"--standalone", "--data-dir=" + busy.dataDir},
			want: []string{busy.dataDir + "/lock", "process " + strconv.Itoa(busy.command.Process.Pid)},
		},
		"a port in use": {
			args: []string{"--standalone", "--data-dir=" + newDataDir(t), "--bind-address=127.0.0.1", "--secure-port=" + busyPort},
			want: []string{"address already in use"},
		},
		"a data directory that cannot be written": {
			args: []string{"--standalone", "--data-dir=/dev/null/data"},
			want: []string{"cannot create data directory /dev/null/data"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var output bytes.Buffer
			if err := command(&output, test.args...).Run(); err == nil {
				t.Error("it ended without an error")
			}
			for _, want := range test.want {
				if !strings.Contains(output.String(), want) {
					t.Errorf("output does not say %q:\n%s", want, output.String())
				}
			}
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	for flag, wanted := range map[string][]string{
		"--help":    {"Cluster flags:", "Storage flags:", "Controllers flags:", "--data-dir", "--kubeconfig"},
		"--version": {"metacontroller-apiserver "},
	} {
		var output bytes.Buffer
		if err := command(&output, flag).Run(); err != nil {
			t.Fatalf("%s: %v\n%s", flag, err, output.String())
		}
		for _, want := range wanted {
			if !strings.Contains(output.String(), want) {
				t.Errorf("%s does not say %q:\n%s", flag, want, output.String())
			}
		}
	}
}
