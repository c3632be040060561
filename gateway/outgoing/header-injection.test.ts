import { unlink, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { createAuthenticator } from './index.ts';
import { callerOf } from './testdata/callers.ts';
import { credentialError, strategyWorld } from './testdata/strategy-deps.ts';

async function injecting(content: string, header_name = 'X-Api-Key') {
  const world = await strategyWorld();
  const file = await world.secret('value', content);
  const entry = { type: 'header_injection', header_name, header_value_file: file };
  return { ...world, file, authenticator: createAuthenticator(entry, world.deps) };
}

describe('headerInjection', () => {
  it('sends the content of the file without its final line break under the lower-case header name', async () => {
    const { authenticator } = await injecting('key 1\n');
    expect(authenticator.headers(undefined)).toEqual({ 'x-api-key': 'key 1' });
  });

  it('returns the same cached headers for probes and for every user', async () => {
    const { authenticator, now } = await injecting('key', 'Authorization');
    expect(authenticator.perUser).toBe(false);
    const headers = authenticator.headers(undefined);
    expect(headers).toEqual({ authorization: 'key' });
    expect(authenticator.headers(callerOf('alice', now()))).toBe(headers);
  });

  it('sends the new content after the file has changed', async () => {
    const { authenticator, file, advance } = await injecting('old');
    expect(authenticator.headers(undefined)).toEqual({ 'x-api-key': 'old' });
    await writeFile(file, 'new');
    advance(1_000);
    expect(authenticator.headers(undefined)).toEqual({ 'x-api-key': 'new' });
  });

  it('retries after a 401 only if the file has changed since', async () => {
    const { authenticator, file, advance } = await injecting('old');
    const sent = await authenticator.headers(undefined);
    expect(authenticator.refused(undefined, sent)).toBe(false);
    await writeFile(file, 'new');
    advance(1_000);
    expect(authenticator.refused(undefined, sent)).toBe(true);
    await unlink(file);
    advance(1_000);
    expect(authenticator.refused(undefined, sent)).toBe(false);
  });

  it.each([
    ['a line break inside', 'a\r\nX-Admin: yes'],
    ['a bare line feed', 'a\nb'],
    ['NUL', 'a\0b'],
    ['two line breaks at the end', 'a\n\n'],
    ['a space at the end', 'a '],
    ['a character that is invalid in headers', 'aж'],
    ['no characters', ''],
  ])('never sends a value with %s', async (_, content) => {
    const { authenticator, file } = await injecting(content);
    const { fault, message } = await credentialError(() => authenticator.headers(undefined));
    expect(fault).toBe('misconfigured');
    expect(message).toContain(file);
    expect(message).not.toContain('X-Admin');
  });

  it('reports the path of a missing file, and recovers when the file exists', async () => {
    const { authenticator, file, advance } = await injecting('key');
    await unlink(file);
    const { fault, message } = await credentialError(() => authenticator.headers(undefined));
    expect(fault).toBe('misconfigured');
    expect(message).toContain(file);
    await writeFile(file, 'key');
    advance(1_000);
    expect(authenticator.headers(undefined)).toEqual({ 'x-api-key': 'key' });
  });

  it('does not send the previous value when the file becomes invalid', async () => {
    const { authenticator, file, advance } = await injecting('good');
    expect(authenticator.headers(undefined)).toEqual({ 'x-api-key': 'good' });
    await writeFile(file, 'bad\nvalue');
    advance(1_000);
    expect((await credentialError(() => authenticator.headers(undefined))).fault).toBe('misconfigured');
  });
});
