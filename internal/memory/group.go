package memory

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// group is a control group that the process is in, or one above it: its limit is for all in it together.
type group struct {
	dir   string
	files names
}

// names are those of the files of a group, which the two versions of the kernel's interface call differently.
type names struct {
	most, used string
	cached     []string // lines of memory.stat: pages of files that the kernel drops before anything is killed
}

var (
	unified = names{"memory.max", "memory.current", []string{"inactive_file", "active_file"}}
	older   = names{"memory.limit_in_bytes", "memory.usage_in_bytes",
		[]string{"total_inactive_file", "total_active_file"}}
)

// groups are all that limit the process, in either version.
func (s system) groups() []group {
	var list []group
	for line := range s.lines("proc/self/cgroup") {
		parts := strings.SplitN(line, ":", 3) // hierarchy, controllers, path
		if len(parts) != 3 {
			continue
		}
		switch controllers := strings.Split(parts[1], ","); {
		case parts[1] == "":
			list = append(list, s.above(s.mounted("cgroup2", ""), parts[2], unified)...)
		case slices.Contains(controllers, "memory"):
			list = append(list, s.above(s.mounted("cgroup", "memory"), parts[2], older)...)
		}
	}
	return list
}

// mount is where a hierarchy of groups can be seen, from which of them on.
type mount struct{ top, dir string }

// mounted finds the hierarchy of a kind that has an option.
func (s system) mounted(kind, option string) mount {
	for line := range s.lines("proc/self/mountinfo") {
		before, after, _ := strings.Cut(line, " - ")
		at, what := strings.Fields(before), strings.Fields(after)
		if len(at) < 5 || len(what) < 3 || what[0] != kind {
			continue
		}
		if option == "" || slices.Contains(strings.Split(what[2], ","), option) {
			spaces := strings.NewReplacer(`\040`, " ")
			return mount{spaces.Replace(at[3]), spaces.Replace(at[4])}
		}
	}
	return mount{}
}

// above are the group at path and those above it, as far as they can be seen. In a container the path may begin above
// what is mounted there.
func (s system) above(m mount, path string, files names) []group {
	if m.dir == "" {
		return nil
	}
	below, seen := strings.CutPrefix(path, strings.TrimSuffix(m.top, "/"))
	if !seen || strings.Contains(below, "..") {
		below = ""
	}
	var list []group
	for below = filepath.Join("/", below); ; below = filepath.Dir(below) {
		list = append(list, group{filepath.Join(s.root, m.dir, below), files})
		if below == "/" {
			return list
		}
	}
}

// left is what may still be taken in the group, endless if it has no limit.
func (g group) left() int64 {
	most, ok := g.number(g.files.most)
	if !ok {
		return endless
	}
	used, _ := g.number(g.files.used)
	return most - used + g.reclaimable()
}

// number reads a file with one number; "max" is none.
func (g group) number(name string) (int64, bool) {
	raw, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	const none = 1 << 60 // what the older version shows where there is no limit is above
	return n, err == nil && n < none
}

// reclaimable is what is used for copies of files.
func (g group) reclaimable() int64 {
	raw, _ := os.ReadFile(filepath.Join(g.dir, "memory.stat"))
	var sum int64
	for line := range strings.Lines(string(raw)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && slices.Contains(g.files.cached, name) {
			n, _ := strconv.ParseInt(value, 10, 64)
			sum += n
		}
	}
	return sum
}
