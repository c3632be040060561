import { JWT_BEARER, TOKEN_EXCHANGE } from '../core/token-request.ts';
import { formatScope } from '../core/scope.ts';
import { FollowedFiles } from '../keys/followed-files.ts';
import { readClientSecret } from '../keys/secrets.ts';
import { inFile } from '../../private-keys/private-key.ts';
import type { DelegateClient } from '../settings.ts';
import type { Client } from '../storage/records.ts';
import type { Logger } from '../../contract/logger.ts';
import { secretHash } from './client-authentication.ts';

interface DelegateClientsOptions {
  readonly clients: readonly DelegateClient[];
  /** Returns the current content of a secret file. Throws an Error that names the file. */
  readonly readSecret: (file: string) => string;
  readonly log: Pick<Logger, 'error'>;
  /** ms on a monotonic clock. */
  readonly now?: () => number;
}

/** Configured clients that exchange tokens. A changed secret takes effect without a restart; an unusable one is ignored. */
export class DelegateClients {
  readonly #current: () => ReadonlyMap<string, Client>;

  /** @throws KeyRefused, FileUnreadable */
  constructor({ clients, readSecret, log, now = () => performance.now() }: DelegateClientsOptions) {
    const followed = new FollowedFiles({
      readers: clients.map(
        ({ secretFile }) =>
          () =>
            readSecret(secretFile),
      ),
      build: (secrets) => new Map(clients.map((client, index) => [client.clientId, clientOf(client, secrets[index])])),
      now,
      onFault: (fault) => {
        log.error('a changed secret of a delegate client is unusable; the previous one stays active', { fault });
      },
    });
    this.#current = () => followed.current();
  }

  get(clientId: string): Client | undefined {
    return this.#current().get(clientId);
  }
}

function clientOf({ clientId, secretFile, scopes }: DelegateClient, content = ''): Client {
  const secret = inFile(secretFile, () => readClientSecret(content));
  return {
    client_id: clientId,
    source: 'configured',
    metadata: {
      redirect_uris: [],
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: [TOKEN_EXCHANGE, JWT_BEARER],
      response_types: ['code'],
      scope: formatScope(scopes),
    },
    issuedAt: 0,
    secretHash: secretHash(secret),
  };
}
