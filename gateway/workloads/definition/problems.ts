import { providerNames } from '../../authserver/read-settings.ts';
import { asksForNothing } from '../../contract/json.ts';
import { headerNameProblems, isHeaderValue } from '../../contract/reserved-names.ts';
import { packageFaults } from '../../contract/package-options.ts';
import type { Problem } from '../../contract/problem.ts';
import { OWN_CREDENTIAL } from '../../contract/rule.ts';
import { auditProblems } from '../../contract/run-config/audit.ts';
import type { RunConfig } from '../../contract/run-config/run-config.ts';
import { policyFileConflicts } from '../../contract/run-config/policy-file.ts';
import { telemetryProblems } from '../../contract/run-config/telemetry.ts';
import { policyProblems } from '../../policy/index.ts';
import { anonymousProblem } from '../../policy/registry.ts';
import { readReference } from './run-config-of.ts';
import { PROXY_MODES, TRANSPORTS, WORKLOAD_NAME } from './settings.ts';
import { webhooksWithSecretPaths } from './webhook-secrets.ts';
import { urlProblems } from '../../contract/addresses.ts';
import { classifyHost } from '../../outbound/address-class.ts';

/** Advice for workloads, which lack the settings that other resources have. */
const MESSAGES: Readonly<Record<string, string>> = {
  InsecureUrl: 'http is not encrypted: use https; http is for servers on this machine (http://127.0.0.1:PORT)',
  CredentialsInUrl: 'the URL contains a user name or password: use header_forward or oauth_config',
};

/** Lists problems of a URL that a workload calls, except those that need a look-up of its host. Pure. */
function workloadUrlProblems(text: string, path: string): Problem[] {
  const problems = urlProblems(text, path, false);
  if (problems.length > 0)
    return problems.map((problem) => ({ ...problem, message: MESSAGES[problem.reason] ?? problem.message }));
  if (classifyHost(URL.parse(text)?.hostname ?? '') !== 'forbidden') return [];
  const message = 'is a link-local, metadata, multicast or reserved address, which vmcp never calls: use another host';
  return [{ reason: 'ForbiddenAddress', path, message }];
}

/** Returns true for the host of a URL, with or without its port and the brackets of an address. */
export function isHostOfUrl(text: string | undefined, host: string): boolean {
  const url = URL.parse(text ?? '');
  if (url === null) return false;
  const { hostname, protocol } = url;
  const port = url.port === '' ? { 'http:': '80', 'https:': '443' }[protocol] : url.port;
  const names = [hostname, hostname.replaceAll(/[[\]]/gu, ''), `${hostname}:${port ?? ''}`];
  return names.includes(host.toLowerCase());
}

/** Members that this machine cannot apply yet. A workload with such a member does not start. Remove a name when the member is built. */
const UNBUILT = ['runtime_config'] as const satisfies readonly (keyof RunConfig)[];

/** Longest value of a forwarded header, in bytes. */
const MAX_HEADER_VALUE = 8_192;
const MAX_HEADER_NAME = 256;

const invalid = (path: string, message: string): Problem => ({ reason: 'InvalidValue', path, message });

/** Lists all problems of a run configuration that its schema cannot express and that do not depend on the store. Pure. */
export function runConfigProblems(config: RunConfig): Problem[] {
  return [
    ...unbuilt(config),
    ...auditProblems(config),
    ...controlProblems(config),
    ...nameProblems(config),
    ...sourceProblems(config),
    ...placeProblems(config),
    ...secretProblems(config),
    ...toolProblems(config),
    ...headerProblems(config),
    ...loginProblems(config),
    ...signingProblems(config),
  ];
}

const unbuilt = (config: RunConfig): Problem[] =>
  UNBUILT.filter((member) => !asksForNothing(config[member])).map((path) => ({
    reason: 'NotSupportedYet',
    path,
    message: `vmcp does not act on ${path} yet: remove it`,
  }));

/** Applies the rules of the gateway to policies, rate limits, webhooks and telemetry. */
function controlProblems(config: RunConfig): Problem[] {
  const { authz_config_path: file, rate_limit_namespace: namespace, rate_limit_config: limits } = config;
  const facts = {
    hasUsers: hasUsers(config),
    providers: providerNames(config.embedded_auth_server_config ?? {}),
    loginSetting: 'oidc_config',
  };
  const problems = [
    ...policyFileConflicts(config),
    ...policyProblems({ ...config, ...webhooksWithSecretPaths(config) }, facts),
  ];
  if (file !== undefined && !facts.hasUsers) problems.push(anonymousProblem('authz_config_path', facts));
  if (namespace !== undefined && limits === undefined)
    problems.push(invalid('rate_limit_namespace', 'only rate limits have a namespace: remove it'));
  return [...problems, ...telemetryProblems(config.telemetry_config)];
}

/** Returns true when clients must log in. */
const hasUsers = ({ oidc_config: oidc, embedded_auth_server_config: authServer }: RunConfig): boolean =>
  oidc !== undefined || authServer !== undefined;

function nameProblems({ name = '' }: RunConfig): Problem[] {
  if (new RegExp(WORKLOAD_NAME, 'u').test(name)) return [];
  return [
    invalid('name', 'must have letters, digits, ".", "_" and "-", at most 100, and start with a letter or digit'),
  ];
}

/** Requires exactly one of an image and a remote URL. */
function sourceProblems(config: RunConfig): Problem[] {
  const { image = '', remote_url: url = '', transport } = config;
  const problems: Problem[] = [];
  if (image === '' && url === '') problems.push(invalid('image', 'set image, or url for a remote server'));
  if (image !== '' && url !== '') problems.push(invalid('url', 'set image or url, not both'));
  const scheme = /^([a-z]+):\/\//u.exec(image)?.[1];
  if (scheme !== undefined && !['npx', 'uvx', 'command'].includes(scheme)) {
    const message = `vmcp does not build images from ${scheme}:// yet: use npx://, uvx://, command:// or a container image`;
    problems.push({ reason: 'NotSupportedYet', path: 'image', message });
  }
  problems.push(...processOptionProblems(config, scheme));
  if (url !== '') {
    problems.push(...workloadUrlProblems(url, 'url'));
    if (transport === 'stdio')
      problems.push(invalid('transport', 'a remote server has the transport sse or streamable-http'));
  }
  return problems;
}

/** Requires the form of image that an option belongs to. */
function processOptionProblems({ package: choices, working_dir: folder }: RunConfig, scheme: string | undefined) {
  const problems: Problem[] = [];
  if (choices !== undefined && !asksForNothing(choices) && scheme !== 'npx' && scheme !== 'uvx')
    problems.push(invalid('package', 'set package only if image is an npx:// or uvx:// package'));
  else if (choices?.python && scheme !== 'uvx')
    problems.push(invalid('package.python', 'set package.python only if image is a uvx:// package'));
  for (const member of packageFaults(choices ?? {}))
    problems.push(invalid(`package.${member}`, 'must not begin with "-" or contain control characters: correct it'));
  if (folder && scheme !== 'command')
    problems.push(invalid('working_dir', 'set working_dir only if image is a command:// program'));
  else if (folder && !folder.startsWith('/')) problems.push(invalid('working_dir', 'must be an absolute path'));
  return problems;
}

function placeProblems(config: RunConfig): Problem[] {
  const { transport = '', proxy_mode: mode = '', host = '', target_host: target } = config;
  const problems: Problem[] = [];
  if (!isOneOf(TRANSPORTS, transport)) problems.push(invalid('transport', `must be ${TRANSPORTS.join(', ')}`));
  if (!isOneOf(PROXY_MODES, mode)) problems.push(invalid('proxy_mode', `must be ${PROXY_MODES.join(' or ')}`));
  if (!/^[\w.:-]+$/u.test(host))
    problems.push(invalid('host', 'must be an address of this machine, such as 127.0.0.1'));
  for (const [path, port] of [
    ['proxy_port', config.port],
    ['target_port', config.target_port],
  ] as const) {
    if (port !== undefined && (port < 0 || port > 65_535)) problems.push(invalid(path, 'must be between 0 and 65535'));
  }
  if (target !== undefined && target !== '' && !LOOPBACK.has(target) && !isHostOfUrl(config.remote_url, target)) {
    const message = 'vmcp forwards to this machine or to the host of the URL: remove it';
    problems.push({ reason: 'NotSupportedYet', path: 'target_host', message });
  }
  if (config.endpoint_prefix !== undefined && !/^(?:\/[\w.~-]+)*\/?$/u.test(config.endpoint_prefix))
    problems.push(invalid('endpoint_prefix', 'must be a path such as /servers/time'));
  return problems;
}

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '::1']);

const isOneOf = (known: readonly string[], word: string): boolean => known.includes(word);

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/u;

function secretProblems({ secrets = [], env_vars: variables = {} }: RunConfig): Problem[] {
  const problems = Object.keys(variables).flatMap((name) =>
    VARIABLE.test(name) ? [] : [invalid(`env_vars.${name}`, 'must be the name of an environment variable')],
  );
  const targets = secrets.map((text) => readReference(text));
  return [
    ...problems,
    ...targets.flatMap((target, index) => {
      const path = `secrets[${String(index)}]`;
      if (target === undefined)
        return [invalid(path, 'needs the name of a secret and a target without "," and spaces')];
      if (!VARIABLE.test(target.target))
        return [invalid(`${path}.target`, 'must be the name of an environment variable')];
      const isRepeated = targets.findIndex((other) => other?.target === target.target) < index;
      return isRepeated
        ? [invalid(`${path}.target`, `another secret has the target ${target.target}: remove one`)]
        : [];
    }),
  ];
}

function toolProblems({ tools_override: overrides = {} }: RunConfig): Problem[] {
  const advertised = Object.entries(overrides).map(([tool, { name }]) => name || tool);
  return Object.entries(overrides).flatMap(([tool, { name = '', description = '' }], index) => {
    const path = `tools_override.${tool}`;
    if (name === '' && description === '') return [invalid(path, 'needs a name or a description')];
    const isRepeated = advertised.indexOf(advertised[index] ?? '') < index;
    return isRepeated ? [invalid(`${path}.name`, `two tools would be named ${name}: rename one`)] : [];
  });
}

function headerProblems({ header_forward: forward, remote_url: url }: RunConfig): Problem[] {
  if (forward === undefined) return [];
  const { add_plaintext_headers: plain = {}, add_headers_from_secret: secret = {} } = forward;
  if (Object.keys(plain).length + Object.keys(secret).length === 0) return [];
  if (!url) return [invalid('header_forward', 'only a remote server gets headers: remove it, or set url')];
  const names = (block: string, headers: object): Problem[] =>
    Object.keys(headers).flatMap((name) => {
      const path = `header_forward.${block}.${name}`;
      if (name.length > MAX_HEADER_NAME)
        return [invalid(path, `must have at most ${String(MAX_HEADER_NAME)} characters`)];
      return headerNameProblems(name, path, OWN_CREDENTIAL);
    });
  const values = Object.entries(plain).flatMap(([name, value]) =>
    isHeaderValue(value) && value.length <= MAX_HEADER_VALUE
      ? []
      : [invalid(`header_forward.add_plaintext_headers.${name}`, 'must be one line of at most 8192 bytes')],
  );
  return [...names('add_plaintext_headers', plain), ...names('add_headers_from_secret', secret), ...values];
}

function loginProblems({ remote_auth_config: login, remote_url: url }: RunConfig): Problem[] {
  if (login === undefined) return [];
  const problems: Problem[] = [];
  const { resource, callback_port: port, headers: _described, ...settings } = login;
  if (!url && (resource !== undefined || port !== undefined || Object.keys(settings).length > 0))
    return [invalid('oauth_config', 'only a remote server has a login: remove it, or set url')];
  if (resource && (!URL.canParse(resource) || resource.includes('#')))
    problems.push(invalid('oauth_config.resource', 'must be an absolute URI without fragment'));
  if (port && (port < 1024 || port > 65_535))
    problems.push(invalid('oauth_config.callback_port', 'must be between 1024 and 65535'));
  for (const member of ['client_secret', 'bearer_token'] as const) {
    const text = login[member];
    if (text !== undefined && readReference(text) === undefined)
      problems.push(
        invalid(`oauth_config.${member}`, 'must name a secret: create one, and give its name and a target'),
      );
  }
  for (const member of ['issuer', 'authorize_url', 'token_url'] as const) {
    const text = login[member];
    if (text) problems.push(...workloadUrlProblems(text, `oauth_config.${member}`));
  }
  return problems;
}

/** Requires a remote server without another credential where requests are signed. */
function signingProblems(config: RunConfig): Problem[] {
  if (config.cloud_sts_config === undefined) return [];
  if (!config.remote_url)
    return [invalid('cloud_sts_config', 'only requests to a remote server are signed: remove it')];
  return (['token_exchange_config', 'upstream_swap_config'] as const)
    .filter((member) => config[member] !== undefined)
    .map((member) => invalid(member, 'a server gets one credential: remove it, or cloud_sts_config'));
}
