package devicetest

// groups is everything a device must pass.
var groups = []group{
	{"scan", testScan},
	{"conv", testConv},
	{"norm", testNorm},
	{"softmax", testSoftmax},
	{"attention", testAttention},
	{"weighted", testWeighted},
	{"cells", testCells},
	{"tables", testTables},
	{"rowsum", testRowSum},
	{"loss", testLoss},
}
