import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { MemoryUpstreamTokens } from '../../../e2e/harness/upstream-tokens.ts';
import { createFormPoster } from '../../outbound/form-poster.ts';
import { WatchedFile } from '../../outbound/watched-file.ts';
import { CredentialError, type FormPost, type StrategyDeps } from '../authenticator.ts';

export interface StrategyWorld {
  readonly deps: StrategyDeps;
  readonly tokens: MemoryUpstreamTokens;
  /** Facts of every log line. */
  readonly logged: string[];
  now(): number;
  advance(ms: number): void;
  /** Writes a secret file and returns its path. */
  secret(name: string, content: string): Promise<string>;
}

/** Real files, real form posts through the outbound guard, and a clock that the test moves. Ends with the test. */
export async function strategyWorld(limits: Partial<FormPost> = {}): Promise<StrategyWorld> {
  const dir = await mkdtemp(join(tmpdir(), 'vmcp-outgoing-'));
  const poster = createFormPoster();
  onTestFinished(async () => {
    await poster.close();
    await rm(dir, { recursive: true, force: true });
  });
  let ms = 1_800_000_000_000;
  const now = () => ms;
  const logged: string[] = [];
  const log = (message: string, facts: object = {}) => void logged.push(`${message} ${JSON.stringify(facts)}`);
  const files = new Map<string, WatchedFile>();
  const tokens = new MemoryUpstreamTokens(now);
  const deps: StrategyDeps = {
    backend: 'github',
    backendUrl: 'http://127.0.0.1:1/mcp',
    now,
    log: { warn: log, info: log, debug: log },
    upstreamTokens: tokens,
    readSecret(file) {
      const watched = files.get(file) ?? new WatchedFile(file, now);
      files.set(file, watched);
      return watched.text();
    },
    postForm: (post) => poster({ ...post, ...limits }),
  };
  const secret = async (name: string, content: string) => {
    const file = join(dir, name);
    await writeFile(file, content);
    return file;
  };
  return { deps, tokens, logged, now, advance: (by) => void (ms += by), secret };
}

/** The `CredentialError` that a call throws or rejects with. */
export async function credentialError(call: () => unknown): Promise<CredentialError> {
  try {
    await call();
  } catch (error) {
    if (error instanceof CredentialError) return error;
    throw error;
  }
  throw new Error('a credential was obtained');
}
