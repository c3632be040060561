import { blocks, text, texts } from '../optional.ts';

/** Clients that obtain tokens for users without a login. */
export const trust = {
  delegate_clients: blocks('Confidential clients that may exchange tokens (RFC 8693).', {
    client_id: text('Client identifier.'),
    client_secret_file: text('Path of the file that holds the client secret, at least 32 characters.'),
    audiences: texts('Audiences that the client may request, each one of `allowed_audiences`.'),
    scopes: texts('Scopes that the client may request, each one of `scopes_supported`.'),
  }),
};
