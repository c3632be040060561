import { imageScheme } from '../../../resolve/backends/server-backend.ts';
import { quoted } from '../texts.ts';
import {
  readOptions,
  valuesOf,
  type ReadOptions,
  asItIs,
  chosen,
  COMMAND_NAME,
  installVariables,
  stdioServer,
  variablesOf,
  type ReadCommand,
  type Invocation,
} from './invocation.ts';
import { remoteServer } from '../remote-server.ts';
import { settingOf, type Reading } from '../server-spec.ts';
import { unusedVariables } from '../ignored-members.ts';
import { timeoutIn } from '../timeouts.ts';
import { toolFilterWarning } from '../tool-filter.ts';

const OPTIONS = {
  flags: ['-y', '--yes', '-q', '--quiet', '--silent', '--prefer-offline', '--prefer-online'],
  valued: ['-p', '--package'],
};

/** Variables that npm reads. */
const READ_BY_NPM = /^(?:npm_config_\w+|(?:https?|all|no)_proxy|NODE_EXTRA_CA_CERTS)$/iu;

/** `npx [-y] PACKAGE[@VERSION] [ARGS]` and `npx -p PACKAGE [-p PACKAGE]... COMMAND [ARGS]`. */
export const npx: ReadCommand = (invocation) => {
  const options = readOptions(invocation.args, OPTIONS);
  if (options.unknown !== undefined)
    return { leftOut: `vmcp has no equivalent of npx ${options.unknown}${asItIs('npx')}` };
  const [named, ...others] = valuesOf(options, '-p', '--package');
  const [first, ...args] = options.rest;
  const spec = named ?? first;
  if (spec === undefined) return { leftOut: 'npx has no package' };
  if (first === undefined) return { leftOut: `npx has no command of ${quoted(spec)}` };
  if (nameOf(spec) === 'mcp-remote') return mcpRemote({ ...invocation, args });
  const foreign = [spec, ...others].find((each) => imageScheme(`npx://${each}`) !== 'npx');
  if (foreign !== undefined)
    return { leftOut: `${quoted(foreign)} is not a package of the npm registry${asItIs('npx')}` };
  const isOther = named !== undefined && first !== nameOf(named).replace(/^@[^/]*\//u, '');
  if (isOther && !COMMAND_NAME.test(first)) return { leftOut: `${quoted(first)} is not the name of a command` };
  const { installEnv, warnings } = installVariables(invocation, READ_BY_NPM);
  const more = chosen({ ...(isOther && { command: first }), with: others, installEnv });
  return stdioServer(`npx://${spec}`, args, variablesOf(invocation), more, warnings);
};

/** Returns the name of `NAME@VERSION`; the `@` of a scope is part of the name. */
const nameOf = (spec: string): string => /^.[^@]*/su.exec(spec)?.[0] ?? '';

/** Options about the login that mcp-remote performs. */
const LOGIN_FLAGS = ['--client-credentials', '--device-code', '--disable-resource-parameter', '--use-id-token'];
const LOGIN_OPTIONS = [
  '--authorize-param',
  '--client-metadata-url',
  '--resource',
  '--static-oauth-client-info',
  '--static-oauth-client-metadata',
  '--token-endpoint',
];
/** Options about the process, its connections and the page of its login, which have no meaning for a URL. */
const OWN_FLAGS = [
  '--allow-http',
  '--debug',
  '--disable-cookies',
  '--enable-proxy',
  '--ipv4',
  '--keep-alive',
  '--silent',
];
const OWN_OPTIONS = [
  ...['--auth-success-url', '--auth-timeout', '--callback-path', '--host', '--protocol'],
  ...['--body-timeout', '--connect-timeout', '--headers-timeout', '--ping-interval'],
];

const MCP_REMOTE_OPTIONS = {
  flags: OWN_FLAGS,
  valued: ['--header', '--transport', '--ignore-tool', ...OWN_OPTIONS, ...LOGIN_OPTIONS],
};

/** Values of `--transport` that decide the transport. The default tries both. */
const ONLY: Readonly<Record<string, 'streamable-http' | 'sse'>> = {
  'http-only': 'streamable-http',
  'sse-only': 'sse',
  'sse-first': 'sse',
};

/** `mcp-remote URL [PORT] [--header "NAME: VALUE"]... [--transport sse-only]`: the bridge of clients that speak stdio only. */
function mcpRemote({ args, env }: Invocation): Reading {
  const options = optionsOf(args.filter((arg) => !LOGIN_FLAGS.includes(arg)));
  if ('leftOut' in options) return options;
  const lines = valuesOf(options, '--header');
  if (!lines.every((line) => line.includes(':'))) return { leftOut: 'a header of mcp-remote has no colon' };
  const headers = lines.map((text) => {
    const [, name = text, value = ''] = /^([^:]*):(.*)$/su.exec(text) ?? [];
    return settingOf(name.trim(), value.trim(), env);
  });
  const transport = valuesOf(options, '--transport').at(-1) ?? '';
  const reading = remoteServer(options.url, ONLY[transport], headers);
  if ('leftOut' in reading) return reading;
  const login = [...LOGIN_FLAGS.filter((flag) => args.includes(flag)), ...options.values.map(([option]) => option)];
  const { timeoutMs, warnings: ofTimeout } = replyTimeout(options);
  const ignored = valuesOf(options, '--ignore-tool');
  return {
    ...reading,
    warnings: [
      ...reading.warnings,
      ...(ignored.length > 0 ? [toolFilterWarning('--ignore-tool', ignored)] : []),
      ...ofTimeout,
      ...optionWarnings(login),
      ...unusedVariables(env, lines),
    ],
    ...(timeoutMs !== undefined && { rules: { timeoutMs } }),
  };
}

/** Reads the URL and the options on both sides of it. */
function optionsOf(args: readonly string[]): (ReadOptions & { readonly url: string }) | { readonly leftOut: string } {
  const before = readOptions(args, MCP_REMOTE_OPTIONS);
  const [url, ...others] = before.rest;
  const after = readOptions(/^\d+$/u.test(others[0] ?? '') ? others.slice(1) : others, MCP_REMOTE_OPTIONS);
  const unknown = before.unknown ?? after.unknown;
  if (unknown === '--header-file')
    return { leftOut: 'the file of mcp-remote --header-file is not read: write its headers into --header' };
  if (unknown !== undefined)
    return { leftOut: `${unknown} is an option of mcp-remote without an equivalent: ${ITSELF}` };
  if (url === undefined) return { leftOut: 'mcp-remote has no URL' };
  if (after.rest.length > 0)
    return {
      leftOut: `an argument of mcp-remote is neither its URL, nor its port, nor an option of mcp-remote: ${ITSELF}`,
    };
  return { url, values: [...before.values, ...after.values], rest: [] };
}

const ITSELF = 'to run mcp-remote itself, set image to npx://mcp-remote';

/** Reads the limits for the head and for the body of a reply, in seconds. 0 means no limit. */
function replyTimeout(options: ReadOptions): ReturnType<typeof timeoutIn> {
  const limits = options.values.filter(([option]) => ['--headers-timeout', '--body-timeout'].includes(option));
  const unusable = limits.find(([, text]) => !(Number(text) > 0));
  if (unusable) return { warnings: [`its ${unusable[0]} is left out: vmcp limits the wait for each reply`] };
  return timeoutIn(limits.length > 0 ? { tool_timeout_sec: Math.max(...limits.map(([, text]) => Number(text))) } : {});
}

/** Warns about options of the login that are left out. */
const optionWarnings = (options: readonly string[]): string[] =>
  [...new Set(options)].flatMap((option) =>
    LOGIN_FLAGS.includes(option) || LOGIN_OPTIONS.includes(option)
      ? `its ${option} is left out: vmcp does not log in as mcp-remote does, but sends the credential of externalAuthConfigRef`
      : [],
  );
