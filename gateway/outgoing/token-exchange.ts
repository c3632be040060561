import { Type } from 'typebox';
import { Closed, DnsLabel, HttpUrl } from '../contract/fields.ts';
import { ATOMIC, flag, text, texts } from '../contract/optional.ts';
import { secretKeyRef } from '../contract/references.ts';
import { HEADER_NAME_PATTERN, safeUrl } from '../contract/rule.ts';
import { declareStrategy } from './strategy.ts';

const TOKEN_TYPE_PATTERN = '^(access_token|id_token|jwt|urn:ietf:params:oauth:token-type:(access_token|id_token|jwt))$';

/** Exchanges the caller's token, or a stored upstream token, for one that the backend accepts (RFC 8693). */
export const tokenExchange = declareStrategy({
  type: 'tokenExchange',
  description: 'RFC 8693 exchange for a token that the backend accepts.',
  spec: Closed(
    {
      tokenUrl: HttpUrl('Exchange endpoint.', { maxLength: 2048 }),
      clientId: text('Client identifier.', { maxLength: 256 }),
      clientSecretRef: secretKeyRef('Client secret.'),
      audience: text('`audience` of the request; left out when absent.', { maxLength: 2048 }),
      scopes: texts('`scope` of the request.', { maxItems: 64, ...ATOMIC }),
      subjectProviderName: Type.Optional(
        DnsLabel('Upstream provider whose stored token is the subject; the JWT issued by the gateway when absent.'),
      ),
      subjectTokenType: text('`subject_token_type` of the request, short or as URN.', { pattern: TOKEN_TYPE_PATTERN }),
      externalTokenHeaderName: text('Header that carries the exchanged token in place of Authorization.', {
        pattern: HEADER_NAME_PATTERN,
        maxLength: 255,
      }),
      allowPrivateIPs: flag('Let the endpoint resolve to a private address.'),
      insecureAllowHTTP: flag('Let the endpoint be spoken to without TLS.'),
    },
    { description: 'Set when `type` is `tokenExchange`.' },
  ),
  rules: [safeUrl('', 'tokenUrl')],
});
