package model

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/dygmamba/dygmamba/internal/suggest"
)

// ErrUnknownModel says that no model is registered under a name.
var ErrUnknownModel = errors.New("unknown model")

// registry holds every model by its name. Package models fills it with those of this module.
var registry = struct {
	sync.RWMutex
	factories map[string]Factory
}{factories: map[string]Factory{}}

// Register adds a model under a name that is not taken. It is meant for init functions, and panics like them.
func Register(name string, f Factory) {
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.factories[name]; taken || name == "" {
		panic(fmt.Sprintf("model: the name %q is empty or already registered", name))
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
