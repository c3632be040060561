import { describe, expect, it } from 'vitest';
import { connectWithSdk, loadSdk, type OnePasswordSdk } from './one-password-sdk.ts';
import { SecretsFailure } from './secrets-failure.ts';

const REFERENCE = 'op://vault/item/field';

/** The SDK with one vault of 60 items. `error` is what it answers for every reference. */
function sdk(error?: string): {
  readonly load: () => Promise<OnePasswordSdk>;
  readonly tokens: string[];
  pages: number[];
} {
  const tokens: string[] = [];
  const pages: number[] = [];
  const items = Array.from({ length: 60 }, (_, index) => ({ id: `i${String(index)}`, title: `Item ${String(index)}` }));
  const answer = error === undefined ? { content: { secret: 'canary' } } : { error: { type: error } };
  const client = {
    secrets: { resolveAll: async ([reference = '']: string[]) => ({ individualResponses: { [reference]: answer } }) },
    vaults: { list: async () => [{ id: 'v', title: 'Vault' }] },
    items: {
      list: async () => items,
      getAll: async (_vault: string, ids: string[]) => {
        pages.push(ids.length);
        const fields = [{ id: 'password', title: 'Password', value: 'canary' }];
        const contents = items.filter(({ id }) => ids.includes(id)).map((item) => ({ content: { ...item, fields } }));
        return { individualResponses: contents };
      },
    },
  };
  const createClient: OnePasswordSdk['createClient'] = async ({ auth }) => {
    tokens.push(auth);
    return client;
  };
  return { load: async () => ({ createClient }), tokens, pages };
}

describe('the SDK of 1Password', () => {
  it('connects with the token and resolves a reference', async () => {
    const { load, tokens } = sdk();
    expect(await (await connectWithSdk(load)('token')).resolve(REFERENCE)).toBe('canary');
    expect(tokens).toEqual(['token']);
  });

  it.each(['vaultNotFound', 'itemNotFound', 'fieldNotFound', 'noMatchingSections', 'parsing'])(
    'has no secret for a reference with %s',
    async (error) => {
      expect(await (await connectWithSdk(sdk(error).load)('token')).resolve(REFERENCE)).toBeUndefined();
    },
  );

  it('fails for a reference that is ambiguous', async () => {
    const connection = await connectWithSdk(sdk('tooManyItems').load)('token');
    await expect(connection.resolve(REFERENCE)).rejects.toThrow(SecretsFailure);
  });

  it('lists the references of all fields in pages, without values', async () => {
    const { load, pages } = sdk();
    const fields = await (await connectWithSdk(load)('token')).fields();
    expect(pages).toEqual([50, 10]);
    expect(fields).toHaveLength(60);
    expect(fields[0]).toEqual({ reference: 'op://v/i0/password', description: 'Vault / Item 0 / Password' });
    expect(JSON.stringify(fields)).not.toContain('canary');
  });

  it('says how to install the package when it is absent', async () => {
    await expect(loadSdk('@1password/absent')).rejects.toThrow('run "npm install @1password/absent"');
  });
});
