import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createOutbound } from '../../../outbound/fetch.ts';
import { WatchedFile } from '../../../outbound/watched-file.ts';
import { createUpstream, type UpstreamEntry } from '../index.ts';
import type { OAuth2ProviderConfig, OidcProviderConfig } from '../../../contract/run-config/upstreams.ts';
import type { Upstream, UpstreamDeps } from '../upstream.ts';
import { UpstreamError } from '../upstream-error.ts';
import { CLIENT_ID, type ScriptedProvider } from './scripted-provider.ts';

export const REDIRECT_URI = 'https://gateway.example/oauth/callback';

export interface UnderTest {
  readonly upstream: Upstream;
  /** Message and facts of every log line. */
  readonly logged: string[];
  now(): number;
  advance(ms: number): void;
}

/** With the real outbound guard, real files, and a clock that the test moves. Ends with the test. */
export function upstreamFor(entry: UpstreamEntry, more: Partial<UpstreamDeps> = {}): UnderTest {
  let ms = Date.now();
  const now = () => ms;
  const logged: string[] = [];
  const log = (message: string, facts: object = {}) => void logged.push(`${message} ${JSON.stringify(facts)}`);
  const files = new Map<string, WatchedFile>();
  const upstream = createUpstream(entry, {
    name: 'corp',
    redirectUri: REDIRECT_URI,
    now,
    log: { warn: log, info: log, debug: log },
    outbound: createOutbound,
    readSecret(file) {
      const watched = files.get(file) ?? new WatchedFile(file, now);
      files.set(file, watched);
      return watched.text();
    },
    retryPausesMs: [20],
    ...more,
  });
  onTestFinished(() => upstream.close());
  return { upstream, logged, now, advance: (by) => void (ms += by) };
}

export const oidcEntry = ({ issuer }: Pick<ScriptedProvider, 'issuer'>, more: Partial<OidcProviderConfig> = {}) => ({
  name: 'corp',
  type: 'oidc',
  oidc_config: { issuer_url: issuer, client_id: CLIENT_ID, ...more },
});

export const oauth2Entry = ({ url }: Pick<ScriptedProvider, 'url'>, more: Partial<OAuth2ProviderConfig> = {}) => ({
  name: 'corp',
  type: 'oauth2',
  oauth2_config: {
    authorization_endpoint: url('authorize'),
    token_endpoint: url('token'),
    client_id: CLIENT_ID,
    ...more,
  },
});

/** Path of a file that ends with the test. */
export async function fileWith(content: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-upstream-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'secret');
  await writeFile(file, content);
  return file;
}

/** The `UpstreamError` that a call throws or rejects with. */
export async function upstreamError(call: () => unknown): Promise<UpstreamError> {
  try {
    await call();
  } catch (error) {
    if (error instanceof UpstreamError) return error;
    throw error;
  }
  throw new Error('it did not fail');
}
