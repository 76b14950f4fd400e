// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// serverUser is the user of the published image.
const serverUser = 65532

func TestAVolumeThatIsNotWritableForTheUserIsNamed(t *testing.T) {
	tests := map[string]func(volume *volume){
		"the folder of the volume belongs to root, as plain host-path provisioners leave it": func(*volume) {},
		"the data belongs to root": func(volume *volume) {
			if err := os.Mkdir(volume.data, 0o755); err != nil {
				t.Fatal(err)
			}
		},
		"a former process ran as root": func(volume *volume) {
			if err := os.Chmod(volume.dir, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := start(t, Config{DataDir: volume.data}).Close(); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			volume := mountVolume(t, 200*mebi)
			prepare(volume)
			err := failToStart(t, "/proc/self/exe", volume.data, &syscall.SysProcAttr{
				Credential: &syscall.Credential{Uid: serverUser, Gid: serverUser},
			})
			wantWords(t, err, volume.data, "permission denied",
				"runs as user 65532 and group 65532", "fsGroup", "chown -R 65532:65532")
		})
	}
}

func TestAReadOnlyVolumeIsNamed(t *testing.T) {
	volume := mountVolume(t, 200*mebi)
	if err := start(t, Config{DataDir: volume.data}).Close(); err != nil {
		t.Fatal(err)
	}
	volume.remount(unix.MS_RDONLY, "")
	_, err := Start(t.Context(), Config{DataDir: volume.data})
	wantWords(t, err, volume.data, "read-only file system", "mount it read-write")
}

func TestAFullVolumeIsNamed(t *testing.T) {
	volume := mountVolume(t, 200*mebi)
	volume.leave(0)
	err := failToStart(t, os.Args[0], volume.data, nil)
	wantWords(t, err, volume.data, "no space left on device", "is full (0 MiB of 200 MiB left)", "enlarge it")
}
