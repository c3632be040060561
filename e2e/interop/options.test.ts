import { describe, expect, it } from 'vitest';
import { parseOptions, UsageError } from './options.ts';

const KNOWN = { provider: ['keycloak', 'dex'], client: ['go-sdk', 'rmcp'], server: ['memory', 'fetch'] };
const NONE = { provider: [], client: [], server: [] };
const chosen = (...argv: string[]) => parseOptions(argv, KNOWN).chosen;

describe('the command line of make interop', () => {
  it('chooses everything without a flag', () => {
    expect(parseOptions([], KNOWN)).toEqual({ chosen: KNOWN, isWhole: true, fresh: false });
    expect(parseOptions(['--fresh'], KNOWN)).toEqual({ chosen: KNOWN, isWhole: true, fresh: true });
    expect(parseOptions(['--only', 'dex'], KNOWN)).toMatchObject({ isWhole: false });
  });

  it('chooses by kind and by name, in the order of the registry', () => {
    expect(chosen('--only', 'keycloak')).toEqual({ ...NONE, provider: ['keycloak'] });
    expect(chosen('--only', 'servers,rmcp')).toEqual({ ...NONE, client: ['rmcp'], server: ['memory', 'fetch'] });
    expect(chosen('--servers', 'fetch,memory')).toEqual({ ...NONE, server: ['memory', 'fetch'] });
    expect(chosen('--providers', 'dex', '--only', 'memory')).toEqual({
      ...NONE,
      provider: ['dex'],
      server: ['memory'],
    });
  });

  it.each([
    [['--only', 'nothing'], 'not "nothing"'],
    [['--clients', 'memory'], '--clients takes go-sdk, rmcp'],
    [['--unknown'], '--unknown'],
  ])('refuses %j', (argv, message) => {
    expect(() => parseOptions(argv, KNOWN)).toThrow(UsageError);
    expect(() => parseOptions(argv, KNOWN)).toThrow(message);
  });
});
