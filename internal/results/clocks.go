package results

// Clocks are rules that learn nothing, measured on the test of published data: AP in percent against random,
// historical and inductive negatives. The first ranks by how long ago both last did anything, the second puts pairs
// that never met before all others. A test of package audit holds them to the data.
var Clocks = map[string][2][3]float64{
	"uci":     {{81.96, 96.01, 88.55}, {41.67, 98.20, 92.28}},
	"enron":   {{73.33, 84.15, 78.74}, {38.02, 87.17, 69.19}},
	"mooc":    {{65.65, 97.61, 94.19}, {47.55, 98.75, 97.07}},
	"CanParl": {{67.67, 79.44, 72.29}, {61.75, 90.78, 71.25}},
	"USLegis": {{61.98, 73.40, 75.05}, {53.52, 88.17, 59.18}},
}
