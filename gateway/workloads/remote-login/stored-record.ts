import { Type, type Static, type TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { parseObject } from '../../contract/json.ts';
import type { Logger } from '../../contract/logger.ts';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { RemoteLoginError } from './remote-login-error.ts';
import type { ClientRecord } from '../../authserver/upstream/registration/register.ts';
import type { RunConfig } from '../../contract/run-config/run-config.ts';

/** `remote_auth_config` of a run configuration. */
export type RemoteAuthConfig = NonNullable<RunConfig['remote_auth_config']>;

/** Returns the text, or undefined when it is empty. */
export const given = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

/** Returns the name in a reference `NAME,target=TARGET`; undefined when the text is no reference. */
export const nameInReference = (reference: string): string | undefined => /^([^,]+),target=/u.exec(reference)?.[1];

/** Internal secrets of workloads. Each method may reject, for example before a secrets provider is set up. */
export interface WorkloadSecrets {
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): Promise<void>;
  /** Returns false for a secret that does not exist. */
  delete(name: string): Promise<boolean>;
}

const facts = {
  remote_url: Type.String(),
  issuer: Type.String(),
  client_id: Type.String(),
  resource: Type.Optional(Type.String()),
  /** Requested scopes. */
  scopes: Type.Array(Type.String()),
};

/** Login at a remote server. */
export const LoginRecord = Type.Object({
  ...facts,
  access_token: Type.String(),
  refresh_token: Type.Optional(Type.String()),
  /** Granted scopes, separated by spaces. */
  granted: Type.Optional(Type.String()),
  /** ms since the epoch. */
  expires_at: Type.Optional(Type.Number()),
});
export type LoginRecord = Static<typeof LoginRecord>;

/** Client and server that the tokens are valid for. They are sent nowhere else. */
export type LoginFacts = Pick<LoginRecord, keyof typeof facts>;

/** Names of the two secrets of one workload. */
export const secretNames = (workload: string) => ({ login: `${workload}_login`, client: `${workload}_client` });

/** JSON in one secret: a write replaces it as a whole. */
export class StoredRecord<Schema extends TSchema> {
  readonly name: string;
  readonly #schema: Schema;
  readonly #secrets: WorkloadSecrets;
  readonly #log: Pick<Logger, 'warn'>;

  constructor(name: string, schema: Schema, { secrets, log }: { secrets: WorkloadSecrets; log: Pick<Logger, 'warn'> }) {
    this.name = name;
    this.#schema = schema;
    this.#secrets = secrets;
    this.#log = log;
  }

  /**
   * Returns undefined for a missing or unknown record, and without a secrets provider that can store it. Rejects with
   * `RemoteLoginError` when the record exists and the provider does not work. @param isExpected true when an earlier login stored it.
   */
  async read(isExpected: boolean): Promise<Static<Schema> | undefined> {
    try {
      return this.#parsed(await this.#secrets.get(this.name));
    } catch (error) {
      if (!isExpected || isWithoutStore(error)) return undefined;
      throw new RemoteLoginError(`the stored login cannot be read: ${messageOf(error)}`, { isTemporary: true });
    }
  }

  /** Returns false when the record could not be written: the caller keeps it in memory. */
  async write(value: Static<Schema>): Promise<boolean> {
    try {
      await this.#secrets.set(this.name, JSON.stringify(value));
      return true;
    } catch (error) {
      this.#log.warn('the login at the remote server is kept in memory only: check the secrets provider', {
        ...{ secret: this.name, cause: messageOf(error) },
      });
      return false;
    }
  }

  #parsed(text: string | undefined): Static<Schema> | undefined {
    const value = text === undefined ? undefined : parseObject(text);
    return Value.Check(this.#schema, value) ? value : undefined;
  }
}

/** Deletes the stored login of a workload that is deleted. Rejects when the secrets provider does not work. */
export async function forgetRemoteLogin(workload: string, secrets: WorkloadSecrets): Promise<void> {
  const { login, client } = secretNames(workload);
  await Promise.all([secrets.delete(login), secrets.delete(client)]);
}

/** Returns true when there is no secrets provider, or one that stores nothing: an earlier login was kept in memory only. */
const isWithoutStore = (error: unknown): boolean =>
  error instanceof OperationError && (error.code === 'not_set_up' || error.code === 'unsupported');

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : 'unexpected error');

type Member =
  | 'cached_client_id'
  | 'cached_client_secret_ref'
  | 'cached_refresh_token_ref'
  | 'cached_reg_token_ref'
  | 'cached_secret_expiry'
  | 'cached_token_expiry';

/** `cached_*` members of `remote_auth_config`: identifiers, names of secrets and times. */
export type Cached = Pick<RemoteAuthConfig, Member>;

const timeOf = (ms: number): string => new Date(ms).toISOString();

/** Returns the members with those of a registered client replaced. */
export function withClient(cached: Cached, workload: string, client: ClientRecord): Cached {
  const {
    cached_client_id: _,
    cached_client_secret_ref,
    cached_reg_token_ref,
    cached_secret_expiry,
    ...login
  } = cached;
  const { client: name } = secretNames(workload);
  return {
    ...login,
    cached_client_id: client.client_id,
    ...(client.client_secret !== undefined && { cached_client_secret_ref: name }),
    ...(client.registration_token !== undefined && { cached_reg_token_ref: name }),
    ...(client.secret_expires_at !== undefined && { cached_secret_expiry: timeOf(client.secret_expires_at) }),
  };
}

/** Returns the members with those of a login replaced. */
export function withLogin(cached: Cached, workload: string, expiresAt: number | undefined): Cached {
  const { cached_refresh_token_ref: _, cached_token_expiry, ...client } = cached;
  return {
    ...client,
    cached_refresh_token_ref: secretNames(workload).login,
    ...(expiresAt !== undefined && { cached_token_expiry: timeOf(expiresAt) }),
  };
}

/** Returns the `cached_*` members of a configuration. */
export const cachedIn = ({
  cached_client_id: id,
  cached_client_secret_ref: secret,
  cached_refresh_token_ref: refresh,
  cached_reg_token_ref: registration,
  cached_secret_expiry: secretExpiry,
  cached_token_expiry: tokenExpiry,
}: RemoteAuthConfig): Cached => ({
  ...(id !== undefined && { cached_client_id: id }),
  ...(secret !== undefined && { cached_client_secret_ref: secret }),
  ...(refresh !== undefined && { cached_refresh_token_ref: refresh }),
  ...(registration !== undefined && { cached_reg_token_ref: registration }),
  ...(secretExpiry !== undefined && { cached_secret_expiry: secretExpiry }),
  ...(tokenExpiry !== undefined && { cached_token_expiry: tokenExpiry }),
});
