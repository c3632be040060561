import * as v2 from '@modelcontextprotocol/client';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect } from 'vitest';
import type { Scope } from '../harness/scope.ts';
import type { ScriptedLogin } from './scripted-login.ts';

/** A logged-in client of either library. */
export interface LoggedIn {
  sessionId(): string | undefined;
  tools(): Promise<string[]>;
  /** Calls a tool and returns the text of the result. */
  call(name: string, args?: Record<string, unknown>): Promise<string>;
  /** Finishes another login with its code, like an application after `UnauthorizedError`. */
  finishLogin(): Promise<void>;
}

const firstText = (result: unknown): string => (result as { content: { text: string }[] }).content[0]?.text ?? '';

async function sdk1(scope: Scope, url: string, login: ScriptedLogin): Promise<LoggedIn> {
  const open = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: login });
  const refused = open();
  await expect(new Client({ name: 'before', version: '1.0.0' }).connect(refused)).rejects.toThrow(UnauthorizedError);
  await refused.finishAuth(login.callback.get('code') ?? '');
  const client = new Client({ name: 'sdk-1', version: '1.0.0' });
  const transport = open();
  await client.connect(transport);
  scope.defer(() => client.close());
  return {
    sessionId: () => transport.sessionId,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) => firstText(await client.callTool({ name, arguments: args })),
    finishLogin: () => transport.finishAuth(login.callback.get('code') ?? ''),
  };
}

async function sdk2(scope: Scope, url: string, login: ScriptedLogin): Promise<LoggedIn> {
  const open = () => new v2.StreamableHTTPClientTransport(new URL(url), { authProvider: login });
  const legacy = { versionNegotiation: { mode: 'legacy' } } as const;
  const refused = open();
  const before = new v2.Client({ name: 'before', version: '1.0.0' }, legacy);
  await expect(before.connect(refused)).rejects.toThrow(v2.UnauthorizedError);
  await refused.finishAuth(login.callback);
  const client = new v2.Client({ name: 'sdk-2', version: '1.0.0' }, legacy);
  const transport = open();
  await client.connect(transport);
  scope.defer(() => client.close());
  return {
    sessionId: () => transport.sessionId,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) => firstText(await client.callTool({ name, arguments: args })),
    finishLogin: () => transport.finishAuth(login.callback),
  };
}

/** Client libraries; each finishes the login with the code of `login`, then opens a session. */
export const SDKS = [
  ['SDK 1.x', sdk1],
  ['SDK 2.x', sdk2],
] as const;
