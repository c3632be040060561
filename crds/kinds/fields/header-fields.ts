import { Type } from 'typebox';
import { Closed } from '../../../gateway/contract/fields.ts';
import { ATOMIC, block, mapBy, text, texts } from '../../../gateway/contract/optional.ts';
import { HOST_PATTERN } from '../../../gateway/contract/reserved-names.ts';
import { SecretKeyRef } from '../../../gateway/contract/references.ts';
import {
  at,
  HEADER_NAME_PATTERN,
  OWN_CREDENTIAL,
  rule,
  safeHeaders,
  type Rule,
} from '../../../gateway/contract/rule.ts';

export const HEADER_NAME = { pattern: HEADER_NAME_PATTERN, minLength: 1, maxLength: 255 };

/** List of header names. */
export const headerNames = (description: string) => texts(description, { maxItems: 64, ...ATOMIC }, HEADER_NAME);

/** Values of headers by name. */
export const headerValues = (description: string) =>
  Type.Optional(
    Type.Record(Type.String(), Type.String({ pattern: '^[^\\x00-\\x08\\x0A-\\x1F\\x7F]*$', maxLength: 8192 }), {
      maxProperties: 32,
      description,
    }),
  );

/** Host that requests to a server name, where it accepts only the host and port at which it would be called on its own machine. */
export const hostHeader = () =>
  text(
    'Value of the `Host` header of every request to this server, such as `localhost:8931`. Defaults to the host and port of the URL. Set it for a server that rejects other hosts than its own.',
    { pattern: HOST_PATTERN, maxLength: 255 },
  );

/** Checks the names of `headerValues`. */
export const namedHeaders = (path: string): Rule =>
  rule<Readonly<Record<string, string>>>(path, {
    rule: `self.all(h, h.matches("${HEADER_NAME_PATTERN}"))`,
    message: 'a header name has letters, digits and hyphens only',
    check: (self) => Object.keys(self).every((name) => new RegExp(HEADER_NAME_PATTERN).test(name)),
  });

/** Headers sent on every request to a backend. */
export const headerForward = () =>
  block('Headers sent on every request to this backend.', {
    addPlaintextHeaders: headerValues(
      'Values of headers, by header name. Everyone who can read this object can read them.',
    ),
    addHeadersFromSecret: Type.Optional(
      Type.Array(
        Closed({
          headerName: Type.String({ ...HEADER_NAME, description: 'Name of the header.' }),
          valueSecretRef: SecretKeyRef('Value of the header.'),
        }),
        { maxItems: 32, description: 'Headers with values from Secrets.', ...mapBy('headerName') },
      ),
    ),
  });

export const headerForwardRules = (path: string): Rule[] =>
  at(path, [
    namedHeaders('addPlaintextHeaders'),
    safeHeaders('addPlaintextHeaders'),
    safeHeaders('addHeadersFromSecret', 'headerName', OWN_CREDENTIAL),
  ]);
