import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scope } from '../../../../e2e/harness/scope.ts';
import type { Logger } from '../../../contract/logger.ts';

/** Creates a folder that is removed with the scope. */
export function folder(scope: Scope): { path(name: string): string; write(name: string, content: string | Uint8Array): string } {
  const dir = mkdtempSync(join(tmpdir(), 'vmcp-keys-'));
  scope.defer(() => {
    rmSync(dir, { recursive: true, force: true });
  });
  const path = (name: string): string => join(dir, name);
  return {
    path,
    write: (name, content) => {
      writeFileSync(path(name), content);
      return path(name);
    },
  };
}

export interface LogLine {
  readonly level: 'warn' | 'error';
  readonly message: string;
  readonly facts: unknown;
}

export function recordingLog(): { readonly log: Pick<Logger, 'error' | 'warn'>; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const write =
    (level: LogLine['level']) =>
    (message: string, facts?: unknown): void => {
      lines.push({ level, message, facts });
    };
  return { log: { warn: write('warn'), error: write('error') }, lines };
}

/** Clock that moves only when a test calls `pass`. */
export function stillClock(): { now: () => number; pass(ms: number): void } {
  let now = 0;
  return {
    now: () => now,
    pass: (ms) => {
      now += ms;
    },
  };
}

export const ecKey = (namedCurve = 'P-256'): KeyObject => generateKeyPairSync('ec', { namedCurve }).privateKey;
export const rsaKey = (modulusLength = 2048): KeyObject => generateKeyPairSync('rsa', { modulusLength }).privateKey;

export const pem = (key: KeyObject, type: 'pkcs8' | 'pkcs1' | 'sec1' = 'pkcs8'): string =>
  key.export({ format: 'pem', type }).toString();
