import { DNS_LABEL_PATTERN } from '../../contract/fields.ts';
import { below, invalid, missing, problem, type Problem } from '../../contract/problem.ts';
import type { EmbeddedAuthServerConfig } from '../../contract/run-config/auth-server.ts';
import { providerNames } from '../read-settings.ts';
import { circularProblems, upstreamProblems } from '../upstream/index.ts';

const MAX_PROVIDERS = 8;
const MAX_NAME_LENGTH = 63;

/** Checks the upstream providers and the upstream filter. */
export function providerProblems(config: EmbeddedAuthServerConfig): Problem[] {
  const { upstreams = [] } = config;
  if (upstreams.length === 0) return [missing('upstreams', 'name an identity provider: users log in there')];
  return [
    ...(upstreams.length > MAX_PROVIDERS
      ? [invalid('upstreams', `name at most ${String(MAX_PROVIDERS)} providers`)]
      : []),
    ...nameProblems(config),
    ...upstreams.flatMap((entry, index) =>
      below(`upstreams[${String(index)}]`, [...circleProblems(entry, config), ...upstreamProblems(entry)]),
    ),
    ...filterProblems(config),
  ];
}

/** Finds upstream addresses of this server itself. Without an issuer there are none. */
const circleProblems = (
  entry: Parameters<typeof circularProblems>[0],
  { issuer, authorization_endpoint_base_url: authorizationEndpointBaseUrl }: EmbeddedAuthServerConfig,
): Problem[] => (issuer === undefined ? [] : circularProblems(entry, { issuer, authorizationEndpointBaseUrl }));

function nameProblems({ upstreams = [] }: EmbeddedAuthServerConfig): Problem[] {
  const names = upstreams.map(({ name }) => name);
  return names.flatMap((name, index): Problem[] => {
    const path = `upstreams[${String(index)}].name`;
    if (name === undefined) {
      return names.length === 1 ? [] : [missing(path, 'only a provider that is the only one needs no name: set it')];
    }
    if (!new RegExp(DNS_LABEL_PATTERN, 'u').test(name) || name.length > MAX_NAME_LENGTH) {
      const message = `"${name}" is not a DNS label: use at most 63 lower-case letters, digits and hyphens`;
      return [invalid(path, message)];
    }
    return names.indexOf(name) === index ? [] : [invalid(path, `two providers are named "${name}": rename one`)];
  });
}

function filterProblems(config: EmbeddedAuthServerConfig): Problem[] {
  const { upstream_filter: filter } = config;
  if (!filter) return [];
  const path = 'upstream_filter';
  const { rules = [], default_upstreams: others = [], claim } = filter;
  return [
    ...(providerNames(config).length > 1
      ? []
      : [problem('RuleViolated', path, 'with one provider there is nothing to choose from: remove it')]),
    ...(claim === '' ? [invalid(`${path}.claim`, 'name the claim')] : []),
    ...(rules.length === 0 ? [missing(`${path}.rules`, 'add a rule that maps groups to providers')] : []),
    ...rules.flatMap(({ groups = [], upstream_providers: providers = [] }, index) => {
      const here = `${path}.rules[${String(index)}]`;
      return [
        ...(groups.length === 0 ? [missing(`${here}.groups`, 'say whom the rule is for')] : []),
        ...(providers.length === 0
          ? [missing(`${here}.upstream_providers`, 'name the providers for these groups')]
          : []),
        ...unknownNames(config, providers, `${here}.upstream_providers`),
      ];
    }),
    ...unknownNames(config, others, `${path}.default_upstreams`),
  ];
}

function unknownNames(config: EmbeddedAuthServerConfig, names: readonly string[], path: string): Problem[] {
  const known = providerNames(config);
  return names.flatMap((name, index) => {
    if (known.includes(name)) return [];
    const message = `no upstream provider has this name (known: ${known.join(', ')}): correct it`;
    return [problem('UpstreamProviderUnknown', `${path}[${String(index)}]`, message)];
  });
}
