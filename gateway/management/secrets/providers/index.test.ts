import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fakeKeyring, fakeOnePassword, TOKEN } from '../testdata/fakes.ts';
import { temporaryFolder } from '../testdata/temporary-folder.ts';
import { PROVIDERS, type ProviderType } from './index.ts';
import type { ProviderDeps, SecretsProvider } from './provider.ts';

/** The provider `cluster` is tested on an API server: `e2e/operator/management/groups-and-secrets.test.ts`. */
type TestedType = Exclude<ProviderType, 'cluster'>;
const TESTED: readonly TestedType[] = ['encrypted', '1password', 'environment'];

/** Methods that a provider must have and must not have. A capability is the presence of its method. */
const CAPABILITIES: Readonly<Record<TestedType, readonly string[]>> = {
  encrypted: ['set', 'delete', 'list', 'clear'],
  '1password': ['list'],
  environment: [],
};
const OPTIONAL = ['set', 'delete', 'list', 'clear'] as const;

/** A secret that each provider has from the start, if it cannot be written. */
const GIVEN: Readonly<Record<TestedType, string>> = {
  encrypted: 'github',
  '1password': 'op://vault/item/field',
  environment: 'github',
};

function depsOf(type: TestedType): ProviderDeps {
  return {
    encryptedPath: join(temporaryFolder(), 'secrets_encrypted'),
    log2Cost: 4,
    env: { OP_SERVICE_ACCOUNT_TOKEN: TOKEN, [`VMCP_SECRET_${GIVEN[type]}`]: 'value' },
    keyring: fakeKeyring(),
    connectOnePassword: fakeOnePassword({ [GIVEN[type]]: 'value' }),
  };
}

/** Returns a provider that is set up and holds `GIVEN`. */
async function provider(type: TestedType): Promise<SecretsProvider> {
  const created = PROVIDERS.find((variant) => variant.type === type)!.create(depsOf(type));
  await created.setUp(undefined);
  await created.set?.(GIVEN[type], 'value', 'absent');
  return created;
}

describe.each(TESTED.map((type) => [type] as const))('secrets provider %s', (type) => {
  it('has the methods of its capabilities', async () => {
    const tested = await provider(type);
    expect(OPTIONAL.filter((method) => tested[method] !== undefined)).toEqual(CAPABILITIES[type]);
  });

  it('reads a secret by its exact name', async () => {
    const tested = await provider(type);
    expect(await tested.get(GIVEN[type])).toBe('value');
    expect(await tested.get(GIVEN[type].toUpperCase())).toBeUndefined();
    expect(await tested.get('unknown')).toBeUndefined();
    expect(await tested.get('__proto__')).toBeUndefined();
    expect(await tested.get('constructor')).toBeUndefined();
  });

  it('keeps its secrets when it is set up again', async () => {
    const tested = await provider(type);
    await tested.setUp(undefined);
    expect(await tested.get(GIVEN[type])).toBe('value');
  });

  if (CAPABILITIES[type].includes('list')) {
    it('lists names without values', async () => {
      const secrets = await (await provider(type)).list!();
      expect(secrets.map(({ key }) => key)).toEqual([GIVEN[type]]);
      expect(JSON.stringify(secrets)).not.toContain('value');
    });
  }

  if (CAPABILITIES[type].includes('set')) {
    it('stores a secret only in the required state', async () => {
      const { get, set } = bound(await provider(type));
      expect(await set('new', 'one', 'present')).toBe(false);
      expect(await get('new')).toBeUndefined();
      expect(await set('new', 'one', 'absent')).toBe(true);
      expect(await set('new', 'two', 'absent')).toBe(false);
      expect(await get('new')).toBe('one');
      expect(await set('new', 'three', 'present')).toBe(true);
      expect(await set('new', 'four', 'any')).toBe(true);
      expect(await get('new')).toBe('four');
    });

    it('stores names that other languages treat specially', async () => {
      const { get, set } = bound(await provider(type));
      const names = ['__proto__', 'toString', 'with space', 'ünïcode', '../up', 'a\u0000b', '👩‍🚀'];
      for (const name of names) expect(await set(name, `value of ${name}`, 'absent')).toBe(true);
      for (const name of names) expect(await get(name)).toBe(`value of ${name}`);
    });

    it('creates a secret for one of several concurrent requests', async () => {
      const { set } = bound(await provider(type));
      const results = await Promise.all(Array.from({ length: 8 }, (_, index) => set('new', String(index), 'absent')));
      expect(results.filter(Boolean)).toHaveLength(1);
    });

    it('keeps all concurrent changes', async () => {
      const tested = await provider(type);
      const names = Array.from({ length: 10 }, (_, index) => `name-${String(index)}`);
      await Promise.all(names.map((name) => tested.set!(name, 'value', 'absent')));
      expect((await tested.list!()).map(({ key }) => key).toSorted()).toEqual([GIVEN[type], ...names].toSorted());
    });
  }

  if (CAPABILITIES[type].includes('delete')) {
    it('deletes a secret once', async () => {
      const tested = await provider(type);
      expect(await tested.delete!(GIVEN[type])).toBe(true);
      expect(await tested.delete!(GIVEN[type])).toBe(false);
      expect(await tested.get(GIVEN[type])).toBeUndefined();
    });
  }

  if (CAPABILITIES[type].includes('clear')) {
    it('deletes all secrets', async () => {
      const tested = await provider(type);
      await tested.clear!();
      expect(await tested.list!()).toEqual([]);
    });
  }
});

const bound = (tested: SecretsProvider) => ({ get: tested.get.bind(tested), set: tested.set!.bind(tested) });
