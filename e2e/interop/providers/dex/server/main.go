// Serves Dex from its packages: the module of its program needs a version of dex/api/v2 that is not published.
// Reads the parts of Dex's configuration file that the docs use.
package main

import (
	"context"
	"encoding/json"
	"log"
	"log/slog"
	"net/http"
	"os"
	"time"

	gosundheit "github.com/AppsFlyer/go-sundheit"
	"github.com/ghodss/yaml"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/server/signer"
	"github.com/dexidp/dex/server/tokens"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
)

type configuration struct {
	Issuer string                `json:"issuer"`
	Web    struct{ HTTP string } `json:"web"`
	OAuth2 struct {
		GrantTypes         []string `json:"grantTypes"`
		SkipApprovalScreen bool     `json:"skipApprovalScreen"`
	} `json:"oauth2"`
	StaticClients   []storage.Client `json:"staticClients"`
	StaticPasswords []struct {
		Email, Hash, Username, UserID string
	} `json:"staticPasswords"`
	Connectors []struct {
		ID, Type, Name string
		Config         json.RawMessage
	} `json:"connectors"`
}

func main() {
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	text, err := os.ReadFile(os.Args[1])
	check(err)
	var c configuration
	check(yaml.Unmarshal(text, &c))
	ctx := context.Background()
	store := stored(c, logger)
	local := signer.LocalConfig{KeysRotationPeriod: "6h"}
	signs, err := local.Open(ctx, store, time.Hour, time.Now, logger)
	check(err)
	refresh, err := tokens.NewRefreshTokenPolicy(logger, false, "", "", "")
	check(err)
	dex, err := server.NewServer(ctx, server.Config{
		Issuer:                     c.Issuer,
		Storage:                    store,
		AllowedGrantTypes:          c.OAuth2.GrantTypes,
		SkipApprovalScreen:         c.OAuth2.SkipApprovalScreen,
		ContinueOnConnectorFailure: true,
		IDTokensValidFor:           time.Hour,
		RefreshTokenPolicy:         refresh,
		Signer:                     signs,
		Logger:                     logger,
		PrometheusRegistry:         prometheus.NewRegistry(),
		HealthChecker:              gosundheit.New(),
	})
	check(err)
	log.Fatal(http.ListenAndServe(c.Web.HTTP, dex))
}

func stored(c configuration, logger *slog.Logger) storage.Storage {
	store := storage.WithStaticClients(memory.New(logger), c.StaticClients)
	passwords := []storage.Password{}
	for _, p := range c.StaticPasswords {
		passwords = append(passwords, storage.Password{Email: p.Email, Hash: []byte(p.Hash), Username: p.Username, UserID: p.UserID})
	}
	store = storage.WithStaticPasswords(store, passwords, logger)
	connectors := []storage.Connector{{ID: "local", Name: "Email", Type: "local"}}
	for _, one := range c.Connectors {
		connectors = append(connectors, storage.Connector{ID: one.ID, Type: one.Type, Name: one.Name, Config: one.Config})
	}
	return storage.WithStaticConnectors(store, connectors)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
