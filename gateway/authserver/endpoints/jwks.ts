import type { AuthServerContext } from '../context.ts';
import { endpointPath } from '../core/metadata.ts';
import { sendPublicJson } from '../http/answers.ts';
import type { Endpoint } from '../http/endpoint.ts';

/** The public keys of all signing keys. @see RFC 7517 §5 */
export const jwksEndpoint = ({ settings, keys }: AuthServerContext): Endpoint => ({
  paths: [endpointPath('jwks', settings.urls.issuer)],
  answers: 'json',
  cors: true,
  head: true,
  methods: {
    GET: (_req, res) => {
      sendPublicJson(res, keys.jwks());
    },
  },
});
