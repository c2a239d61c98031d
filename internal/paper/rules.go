package paper

// RuleNames are rules that learn nothing: how long ago both last did anything; the same, but pairs that never met
// before all others; and how often the destination came after the source's latest two partners.
var RuleNames = [3]string{"recent activity", "recent activity, unmet pairs first", "what usually comes next"}

// Rules are what they reach on the published data sets, next to which published numbers are read: test AP in percent
// against random, historical and inductive negatives. A test of package audit measures them again.
var Rules = map[string][len(RuleNames)][3]float64{
	"uci":       {{81.96, 96.01, 88.55}, {41.67, 98.20, 92.28}, {91.66, 81.08, 71.62}},
	"enron":     {{73.33, 84.15, 78.74}, {38.02, 87.17, 69.19}, {87.40, 71.05, 72.69}},
	"mooc":      {{65.65, 97.61, 94.19}, {47.55, 98.75, 97.07}, {95.81, 91.50, 86.65}},
	"CanParl":   {{67.67, 79.44, 72.29}, {61.75, 90.78, 71.25}, {67.74, 68.87, 69.23}},
	"wikipedia": {{81.87, 92.98, 88.45}, {31.48, 95.76, 89.18}, {97.81, 76.97, 75.57}},
	"USLegis":   {{61.98, 73.40, 75.05}, {53.52, 88.17, 59.18}, {53.87, 47.78, 53.78}},
}
