import { remoteServer } from '../remote-server.ts';
import { settingOf } from '../setting.ts';
import type { Reading } from '../server-spec.ts';
import { readOptions, valuesOf, type ReadOptions } from './command-options.ts';
import type { Invocation } from './invocation.ts';

const OPTIONS = {
  flags: ['--allow-http', '--debug', '--enable-proxy', '--silent'],
  valued: [
    '--header',
    '--transport',
    '--host',
    '--resource',
    '--auth-timeout',
    '--ignore-tool',
    '--static-oauth-client-metadata',
    '--static-oauth-client-info',
  ],
};

/** `mcp-remote URL [PORT] [--header "NAME: VALUE"]... [--transport sse-only]`: the bridge of clients that speak stdio only. */
export function mcpRemote({ args, env }: Invocation): Reading {
  const before = readOptions(args, OPTIONS);
  const [url, ...others] = before.rest;
  const after = readOptions(/^\d+$/u.test(others[0] ?? '') ? others.slice(1) : others, OPTIONS);
  const unknown = before.unknown ?? after.unknown ?? after.rest[0];
  if (url === undefined) return { leftOut: 'mcp-remote has no URL' };
  if (unknown !== undefined) return { leftOut: 'vmcp has no equivalent of an option of mcp-remote' };
  const options: ReadOptions = { values: [...before.values, ...after.values], rest: [] };
  const lines = valuesOf(options, '--header');
  if (!lines.every((line) => line.includes(':'))) return { leftOut: 'a header of mcp-remote has no colon' };
  const headers = lines.map((text) => {
    const [, name = text, value = ''] = /^([^:]*):(.*)$/su.exec(text) ?? [];
    return settingOf(name.trim(), value.trim(), env);
  });
  const transport = valuesOf(options, '--transport').at(-1);
  return remoteServer(url, transport?.startsWith('sse') === true ? 'sse' : undefined, headers);
}
