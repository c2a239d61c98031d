package memory

import "syscall"

// limits are those of the process: on its address space, and on its data.
func limits() []limit {
	var list []limit
	for which, line := range map[int]string{syscall.RLIMIT_AS: "VmSize", syscall.RLIMIT_DATA: "VmData"} {
		var r syscall.Rlimit
		if syscall.Getrlimit(which, &r) == nil {
			list = append(list, limit{line, r.Cur})
		}
	}
	return list
}
