// Package dygmamba learns from a stream of timed interactions and answers: will u and v interact at time t?
//
// Train fits a model to a data set and keeps it in a run directory, RunSweep looks for good settings, Evaluate measures
// a model under the published protocol, and Load opens it as a Predictor that scores queries, says why, and describes
// nodes. The packages below do the work and can be used on their own: dataset reads events, sample gathers what a model
// may see, models holds the models, train and eval the two loops.
package dygmamba
