package model

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/dygmamba/dygmamba/internal/suggest"
	"github.com/dygmamba/dygmamba/protocol"
)

// ErrUnknownModel says that no model is registered under a name.
var ErrUnknownModel = errors.New("unknown model")

// registry holds every model by its name. Package models fills it with those of this module.
var registry = struct {
	sync.RWMutex
	factories map[string]Factory
}{factories: map[string]Factory{}}

// names is what models may be called: flags, files and checkpoints name them.
var names = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// Register adds a model under a name that is not taken. It is meant for init functions, and panics like them.
func Register(name string, f Factory) {
	registry.Lock()
	defer registry.Unlock()
	switch _, taken := registry.factories[name]; {
	case taken:
		panic(fmt.Sprintf("model: there are two models %q", name))
	case !names.MatchString(name):
		panic(fmt.Sprintf("model: the name %q, must be of lower-case letters, digits, dots and dashes", name))
	case f.spec == nil:
		panic(fmt.Sprintf("model: the factory of %q was not made by Make", name))
	}
	registry.factories[name] = f
}

// Find returns the model that is registered under a name.
func Find(name string) (Factory, error) {
	registry.RLock()
	defer registry.RUnlock()
	if f, ok := registry.factories[name]; ok {
		return f, nil
	}
	names := slices.Sorted(maps.Keys(registry.factories))
	return Factory{}, fmt.Errorf("%w %q%s; there are %s",
		ErrUnknownModel, name, suggest.Hint(name, names), strings.Join(names, ", "))
}

// Registered lists the names in the order of the alphabet.
func Registered() []string {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Sorted(maps.Keys(registry.factories))
}

// MadeFor lists the models that can learn a task and no other, in the order of the alphabet.
func MadeFor(task protocol.Task) []string {
	return slices.DeleteFunc(Registered(), func(name string) bool {
		f, err := Find(name)
		return err != nil || f.Task != task
	})
}

// Learning lists the models that can learn a task, in the order of the alphabet.
func Learning(task protocol.Task) []string {
	return slices.DeleteFunc(Registered(), func(name string) bool {
		f, err := Find(name)
		return err != nil || !f.CanLearn(task)
	})
}

// TellingKinds lists the models that tell kinds of events apart, in the order of the alphabet.
func TellingKinds() []string {
	return slices.DeleteFunc(Registered(), func(name string) bool {
		f, err := Find(name)
		return err != nil || !slices.Contains(f.Keys(), "kinds")
	})
}
