package cpu

import "golang.org/x/sys/cpu"

// vectors says whether this machine can run the vector forms.
var vectors = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// useVectors puts the vector forms in place and says what they need.
func useVectors(l *loops) string {
	useTiles(l)
	useMaps(l)
	useZips(l)
	useDropout(l)
	useColSum(l)
	useTimeCode(l)
	useUpdate(l)
	usePeak(l)
	return "AVX2"
}
