import { SecretsFailure } from './secrets-failure.ts';

/** Field of an item, without its value. */
interface Field {
  /** Secret reference: `op://vault/item/field`. */
  readonly reference: string;
  /** Titles of vault, item and field. */
  readonly description: string;
}

/** Connection to 1Password. */
export interface OnePassword {
  /** Returns undefined if there is no such field. */
  resolve(reference: string): Promise<string | undefined>;
  fields(): Promise<readonly Field[]>;
}

/** Connects with the token of a service account. */
export type ConnectOnePassword = (token: string) => Promise<OnePassword>;

/** The members of the package `@1password/sdk` that are used. */
export interface OnePasswordSdk {
  createClient(configuration: {
    readonly auth: string;
    readonly integrationName: string;
    readonly integrationVersion: string;
  }): Promise<SdkClient>;
}

interface SdkClient {
  readonly secrets: {
    resolveAll(references: string[]): Promise<{ individualResponses: Record<string, Resolved> }>;
  };
  readonly vaults: { list(): Promise<readonly Titled[]> };
  readonly items: {
    list(vaultId: string): Promise<readonly Titled[]>;
    getAll(
      vaultId: string,
      itemIds: string[],
    ): Promise<{ individualResponses: readonly { content?: Titled & { fields: readonly Titled[] } }[] }>;
  };
}

interface Titled {
  readonly id: string;
  readonly title: string;
}

interface Resolved {
  readonly content?: { readonly secret: string };
  readonly error?: { readonly type: string };
}

/** Maximum number of items in one request. */
const PAGE = 50;
const NOT_FOUND: ReadonlySet<string> = new Set([
  'fieldNotFound',
  'itemNotFound',
  'vaultNotFound',
  'noMatchingSections',
  'parsing',
]);

/** Connects through the SDK of 1Password, which users install beside vmcp. */
export const connectWithSdk =
  (load: () => Promise<OnePasswordSdk> = loadSdk): ConnectOnePassword =>
  async (token) => {
    const sdk = await load();
    const client = await sdk.createClient({ auth: token, integrationName: 'vmcp', integrationVersion: 'v1' });
    return {
      resolve: async (reference) =>
        secretOf((await client.secrets.resolveAll([reference])).individualResponses[reference]),
      fields: async () => {
        const fields: Field[] = [];
        for (const vault of await client.vaults.list()) fields.push(...(await fieldsOf(client, vault)));
        return fields;
      },
    };
  };

function secretOf(resolved: Resolved | undefined): string | undefined {
  const { content, error } = resolved ?? {};
  if (content) return content.secret;
  if (error && NOT_FOUND.has(error.type)) return undefined;
  throw new SecretsFailure(
    'settings',
    `1Password cannot resolve a reference (${error?.type ?? 'no answer'}): correct the reference`,
  );
}

async function fieldsOf({ items }: SdkClient, vault: Titled): Promise<Field[]> {
  const ids = (await items.list(vault.id)).map(({ id }) => id);
  const fields: Field[] = [];
  for (let start = 0; start < ids.length; start += PAGE) {
    const { individualResponses } = await items.getAll(vault.id, ids.slice(start, start + PAGE));
    for (const { content: item } of individualResponses) {
      for (const field of item?.fields ?? []) {
        const reference = `op://${vault.id}/${item?.id ?? ''}/${field.id}`;
        fields.push({ reference, description: `${vault.title} / ${item?.title ?? ''} / ${field.title}` });
      }
    }
  }
  return fields;
}

/** Loads the package by a variable, so that the bundle leaves it out: it is 14 MB of WebAssembly for few users. */
export async function loadSdk(name: string = '@1password/sdk'): Promise<OnePasswordSdk> {
  try {
    return (await import(name)) as OnePasswordSdk;
  } catch {
    throw new SecretsFailure(
      'settings',
      `the package ${name} is not installed: run "npm install ${name}" in the folder of vmcp`,
    );
  }
}
