import type { GatewayConfig, OutgoingEntry } from './gateway-config.ts';
import type { Problem } from './problem.ts';

/** Requirements of a strategy. */
export interface StrategyNeeds {
  /** A caller whose credential was verified. */
  readonly user: boolean;
  /** Tokens that logins at the embedded authorization server leave behind. */
  readonly authServer: boolean;
  /** The transport streamable-http. */
  readonly streamableHttp: boolean;
}

/** Members of an entry that name an upstream provider. */
const PROVIDER_MEMBERS = ['provider_name', 'subject_provider_name'] as const;

/**
 * Lists conflicts between `vmcp.outgoing_auth` and the rest of a configuration. `needs` maps the name of a strategy
 * in the document to its requirements; each strategy checks its own members.
 */
export function outgoingProblems(
  config: GatewayConfig,
  needs: ReadonlyMap<string, StrategyNeeds>,
  hasUsers: boolean,
): Problem[] {
  return Object.entries(config.vmcp.outgoing_auth ?? {}).flatMap(([backend, entry]) => {
    const path = `vmcp.outgoing_auth.${backend}`;
    const need = needs.get(entry.type) ?? { user: false, authServer: false, streamableHttp: false };
    return [
      ...placeProblems(config, [backend, entry], need, path),
      ...(hasUsers ? [] : userProblems(config, entry, need, path)),
      ...providerProblems(config, entry, need, path),
    ];
  });
}

function placeProblems(
  { vmcp }: GatewayConfig,
  [name, { type }]: readonly [string, OutgoingEntry],
  need: StrategyNeeds,
  path: string,
): Problem[] {
  const backend = vmcp.backends.find((each) => each.name === name);
  if (!backend) {
    const message = `there is no backend "${name}", so nothing would get this credential: correct the name`;
    return [{ reason: 'UnknownBackend', path, message }];
  }
  if (backend.transport === 'stdio' && type !== 'unauthenticated') {
    const message = 'a stdio server has no HTTP requests that could carry a credential: remove this entry';
    return [{ reason: 'OutgoingAuthOnStdio', path, message }];
  }
  if (backend.transport !== 'sse' || !need.streamableHttp) return [];
  const message = `strategy ${type} signs each request, which the transport sse cannot: use streamable-http`;
  return [{ reason: 'OutgoingAuthOnSse', path, message }];
}

function userProblems({ vmcp }: GatewayConfig, { type }: OutgoingEntry, need: StrategyNeeds, path: string): Problem[] {
  if (!need.user) return [];
  const message = `strategy ${type} needs a caller, and vmcp.incoming.type ${vmcp.incoming.type} has none: set it to oidc`;
  return [{ reason: 'OutgoingAuthNeedsUser', path: `${path}.type`, message }];
}

function providerProblems(
  { embedded_auth_server_config: server }: GatewayConfig,
  entry: OutgoingEntry,
  need: StrategyNeeds,
  path: string,
): Problem[] {
  const named = PROVIDER_MEMBERS.filter((member) => typeof entry[member] === 'string');
  if (!server) {
    if (!need.authServer && named.length === 0) return [];
    const message =
      'only a login at the embedded authorization server leaves upstream tokens: set embedded_auth_server_config';
    return [{ reason: 'OutgoingAuthNeedsAuthServer', path: `${path}.${named[0] ?? 'type'}`, message }];
  }
  if (server.disable_upstream_token_injection === true && (need.authServer || named.length > 0)) {
    const message =
      'tokens of upstream providers are kept in while embedded_auth_server_config.disable_upstream_token_injection is true: remove that, or this entry';
    return [{ reason: 'UpstreamTokensDisabled', path, message }];
  }
  const providers = (server.upstreams ?? []).map(({ name }) => name);
  return named
    .filter((member) => !providers.includes(String(entry[member])))
    .map((member) => ({
      reason: 'UpstreamProviderUnknown',
      path: `${path}.${member}`,
      message: `no upstream provider has this name (known: ${providers.join(', ') || 'none'}): correct it`,
    }));
}
