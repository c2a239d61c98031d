package devicetest

// groups is everything a device must pass.
var groups = []group{
	{"matmul", testMatMul},
	{"transpose", testTranspose},
	{"map", testMap},
	{"zip", testZip},
	{"scale", testScale},
	{"dropout", testDropout},
	{"dropout keys", testDropoutKeys},
	{"colsum", testColSum},
	{"timecode", testTimeCode},
	{"update", testUpdate},
	{"scan", testScan},
	{"conv", testConv},
	{"norm", testNorm},
	{"softmax", testSoftmax},
	{"attention", testAttention},
	{"weighted", testWeighted},
	{"cells", testCells},
	{"tables", testTables},
	{"assign", testAssign},
	{"decayed products", testDecayedProducts},
	{"rowsum", testRowSum},
	{"loss", testLoss},
}
