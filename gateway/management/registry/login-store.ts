import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import type { UpstreamGrant } from '../../authserver/upstream/upstream.ts';
import { Secret } from '../../contract/identity.ts';
import type { Logger } from '../../contract/logger.ts';
import type { RegistryAuth } from './schema/registry.ts';

/** Store of internal secrets. Each method may reject, for example before a secrets provider is set up. */
export interface RegistrySecrets {
  readonly get: (name: string) => Promise<string | undefined>;
  readonly set: (name: string, value: string) => Promise<void>;
  readonly delete: (name: string) => Promise<unknown>;
}

/** Completed login at a registry. */
export interface GrantedLogin {
  readonly grant: UpstreamGrant;
  readonly subject: string;
}

const NAME = 'login';

const StoredLogin = Type.Object({
  /** The tokens are valid for this client at this issuer only. */
  issuer: Type.String(),
  client_id: Type.String(),
  subject: Type.String(),
  access_token: Type.String(),
  refresh_token: Type.Optional(Type.String()),
  scope: Type.Optional(Type.String()),
  /** ms since the epoch. */
  expires_at: Type.Optional(Type.Number()),
});

/** Stores the login at a registry as an internal secret, or in memory while the secrets provider does not work. */
export class LoginStore {
  readonly #secrets: RegistrySecrets | undefined;
  readonly #log: Pick<Logger, 'warn'>;

  constructor(secrets: RegistrySecrets | undefined, log: Pick<Logger, 'warn'>) {
    this.#secrets = secrets;
    this.#log = log;
  }

  /** Returns the stored login for this client. */
  async read({ issuer, client_id }: RegistryAuth): Promise<GrantedLogin | undefined> {
    const stored = parsed(await this.#secrets?.get(NAME).catch(() => undefined));
    if (stored?.issuer !== issuer || stored.client_id !== client_id) return undefined;
    const { access_token, refresh_token, scope, expires_at } = stored;
    return {
      subject: stored.subject,
      grant: {
        accessToken: new Secret(access_token),
        ...(refresh_token !== undefined && { refreshToken: new Secret(refresh_token) }),
        ...{ scope, expiresAt: expires_at },
      },
    };
  }

  async write({ issuer, client_id }: RegistryAuth, { grant, subject }: GrantedLogin): Promise<void> {
    const stored: Static<typeof StoredLogin> = {
      ...{ issuer, client_id, subject, access_token: grant.accessToken.reveal() },
      ...(grant.refreshToken && { refresh_token: grant.refreshToken.reveal() }),
      ...(grant.scope !== undefined && { scope: grant.scope }),
      ...(grant.expiresAt !== undefined && { expires_at: grant.expiresAt }),
    };
    if (!this.#secrets) return;
    try {
      await this.#secrets.set(NAME, JSON.stringify(stored));
    } catch (error) {
      const cause = error instanceof Error ? error.message : 'unknown error';
      this.#log.warn('the login at the registry is kept in memory only: set up a secrets provider', { cause });
    }
  }

  /** Deletes the stored login. Rejects if there is one that cannot be deleted. */
  async delete(): Promise<void> {
    const stored = await this.#secrets?.get(NAME).catch(() => undefined);
    if (stored !== undefined) await this.#secrets?.delete(NAME);
  }
}

function parsed(text: string | undefined): Static<typeof StoredLogin> | undefined {
  if (text === undefined) return undefined;
  try {
    const value = JSON.parse(text) as unknown;
    return Value.Check(StoredLogin, value) ? value : undefined;
  } catch {
    return undefined;
  }
}
