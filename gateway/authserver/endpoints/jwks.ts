import type { Operation } from '../../http/endpoint/operation.ts';
import { sendPublicJson } from '../../http/endpoint/replies.ts';
import type { AuthServerContext } from '../context.ts';
import { endpointPath } from '../../contract/paths/auth-server-paths.ts';

/** Publishes the public keys of all signing keys. @see RFC 7517 §5 */
export const jwksEndpoint = ({ settings, keys }: AuthServerContext): readonly Operation[] => [
  {
    method: 'GET',
    paths: [endpointPath('jwks', settings.urls.issuer)],
    cors: true,
    head: true,
    handle: (_req, res) => {
      sendPublicJson(res, keys.jwks());
    },
  },
];
