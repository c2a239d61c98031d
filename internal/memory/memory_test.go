package memory

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestAvailable(t *testing.T) {
	const least, most = 1 << 20, 1 << 50
	if n := Available(); runtime.GOOS == "linux" && !(least < n && n < most) {
		t.Errorf("%d bytes are available", n)
	}
}

// The garbage collector is told what there is, unless someone told it already.
func TestHeed(t *testing.T) {
	if Available() == 0 {
		t.Skip("nobody tells what is free here")
	}
	was := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(was)
	for limit, heeded := range map[string]bool{"": true, "1GiB": false} {
		t.Setenv("GOMEMLIMIT", limit)
		debug.SetMemoryLimit(math.MaxInt64)
		Heed()
		if now := debug.SetMemoryLimit(-1); (now < math.MaxInt64) != heeded || now < 1 {
			t.Errorf("with GOMEMLIMIT=%s the limit is %d", limit, now)
		}
	}
}

const (
	meminfo = "MemTotal:       2000000 kB\nMemFree:         100 kB\nMemAvailable:    1000000 kB\n"
	status  = "Name:\tdygmamba\nVmSize:\t  300000 kB\nVmData:\t  200000 kB\n"
	mib     = 1 << 20
)

// Whatever limits the process first is what counts.
func TestLimits(t *testing.T) {
	none := map[string]string{"proc/meminfo": meminfo, "proc/self/status": status}
	v2 := map[string]string{"proc/self/cgroup": "0::/a/b\n",
		"proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"}
	v1 := map[string]string{
		"proc/self/cgroup": "5:devices:/\n4:cpu,memory:/docker/c1\n0::/\n",
		"proc/self/mountinfo": "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n" +
			"35 31 0:32 /docker/c1 /sys/fs/cg\\040m rw,relatime shared:4 - cgroup cgroup rw,cpu,memory\n" +
			"36 31 0:33 / /sys/fs/unified rw - cgroup2 cgroup2 rw\n",
	}
	tests := []struct {
		name   string
		files  []map[string]string
		limits []limit
		want   int64
	}{
		{"nobody tells", nil, nil, 0},
		{"the machine alone", []map[string]string{none}, nil, 1000000 << 10},
		{"version 2", []map[string]string{none, v2, {"sys/fs/cgroup/a/b/memory.max": "419430400\n",
			"sys/fs/cgroup/a/b/memory.current": "104857600\n"}}, nil, 300 * mib},
		{"version 2, copies of files can go", []map[string]string{none, v2, {
			"sys/fs/cgroup/a/b/memory.max":     "419430400\n",
			"sys/fs/cgroup/a/b/memory.current": "419430000\n",
			"sys/fs/cgroup/a/b/memory.stat":    "anon 5\nfile 99999999\ninactive_file 1000\nactive_file 2000\n",
		}}, nil, 3400},
		{"version 2, no limit", []map[string]string{none, v2, {"sys/fs/cgroup/a/b/memory.max": "max\n",
			"sys/fs/cgroup/a/b/memory.current": "104857600\n"}}, nil, 1000000 << 10},
		{"version 2, a group above", []map[string]string{none, v2, {"sys/fs/cgroup/a/b/memory.max": "max\n",
			"sys/fs/cgroup/a/memory.max": "209715200\n", "sys/fs/cgroup/a/memory.current": "104857600\n"}},
			nil, 100 * mib},
		{"version 2 in a container", []map[string]string{none, v2, {"proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "419430400\n"}}, nil, 400 * mib},
		{"version 2 without a machine", []map[string]string{v2, {"sys/fs/cgroup/a/b/memory.max": "419430400\n"}}, nil,
			400 * mib},
		{"version 1 in a container", []map[string]string{none, v1, {"sys/fs/cg m/memory.limit_in_bytes": "419430400\n",
			"sys/fs/cg m/memory.usage_in_bytes": "419429376\n",
			"sys/fs/cg m/memory.stat":           "inactive_file 7\ntotal_inactive_file 1024\n"}}, nil, 2048},
		{"version 1, no limit", []map[string]string{none, v1,
			{"sys/fs/cg m/memory.limit_in_bytes": "9223372036854771712\n"}}, nil, 1000000 << 10},
		{"version 1, a path that is not seen",
			[]map[string]string{none, v1, {"proc/self/cgroup": "4:memory:/other/place\n",
				"sys/fs/cg m/memory.limit_in_bytes": "419430400\n"}}, nil, 400 * mib},
		{"more used than allowed", []map[string]string{none, v2, {"sys/fs/cgroup/a/b/memory.max": "100\n",
			"sys/fs/cgroup/a/b/memory.current": "200\n"}}, nil, 1},
		{"address space", []map[string]string{none}, []limit{{"VmSize", 400000 << 10}, {"VmData", 1<<64 - 1}},
			100000 << 10},
		{"data", []map[string]string{none}, []limit{{"VmSize", 1<<64 - 1}, {"VmData", 210000 << 10}}, 10000 << 10},
		{"limits above all there is", []map[string]string{none}, []limit{{"VmSize", 1<<64 - 1}, {"VmData", 1<<64 - 1}},
			1000000 << 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for _, files := range tt.files {
				for name, text := range files {
					path := filepath.Join(root, name)
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			s := system{root, func() []limit { return tt.limits }}
			if got := s.available(); got != tt.want {
				t.Errorf("%d bytes, want %d", got, tt.want)
			}
		})
	}
}

// A limit that a user sets holds until it is undone.
func TestLimit(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "")
	was := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(was)
	undo := Limit(1 << 40)
	if now := debug.SetMemoryLimit(-1); now != 1<<40 {
		t.Errorf("limited to %d", now)
	}
	if undo(); debug.SetMemoryLimit(-1) != math.MaxInt64 {
		t.Error("the limit stays")
	}
}
