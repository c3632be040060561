import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import { onTestFinished } from 'vitest';
import { listen } from '../../listener.ts';
import { absentKeyring, fakeOnePassword } from '../secrets/testdata/fakes.ts';
import { inMemoryWorkloads } from '../workloads/testdata/in-memory-workloads.ts';
import { createManagementApi, type ManagementApiOptions } from '../management-api.ts';

const silent = (): void => undefined;
const log = { error: silent, warn: silent, info: silent, debug: silent } as never;

/** Answer of the API. `json` is undefined unless the body is JSON. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: unknown;
}

export interface ManagementServer {
  readonly home: string;
  readonly stateDir: string;
  /** Address of the listener. */
  readonly base: string;
  readonly send: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;
}

/** Serves the management API with a state folder and a home folder of its own until the test ends. */
export async function startManagementServer(options: Partial<ManagementApiOptions> = {}): Promise<ManagementServer> {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-management-'));
  const api = createManagementApi({
    stateDir: folder,
    folders: { platform: 'linux', home: folder },
    endpoints: () => [],
    servers: () => [],
    registry: { isReadOnly: false, loginPorts: [0] },
    secrets: { env: {}, keyring: absentKeyring, connectOnePassword: fakeOnePassword({}) },
    workloads: () => inMemoryWorkloads(),
    draining: new AbortController().signal,
    version: '1.2.3',
    env: {},
    now: Date.now,
    log,
    ...options,
  });
  const listener = await listen(express().use(api), '127.0.0.1', 0);
  onTestFinished(async () => {
    await listener.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const base = `http://127.0.0.1:${String(listener.port)}`;
  return {
    home: folder,
    stateDir: folder,
    base,
    send: async (method, path, body, headers = {}) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const init = { method, headers, ...(body !== undefined && { body: text }) };
      return answerOf(await fetch(`${base}${path}`, init));
    },
  };
}

async function answerOf(reply: Response): Promise<Answer> {
  const text = await reply.text();
  const isJson = text !== '' && (reply.headers.get('content-type') ?? '').includes('json');
  return {
    status: reply.status,
    headers: reply.headers,
    text,
    json: isJson ? (JSON.parse(text) as unknown) : undefined,
  };
}
