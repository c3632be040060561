import { Type } from 'typebox';
import { Closed } from '../../contract/fields.ts';
import { Secret } from '../../contract/identity.ts';
import { secretKeyRef } from '../../contract/references.ts';
import { rule } from '../../contract/rule.ts';
import { defineMode } from '../mode.ts';
import { TokenRefused } from '../refusal.ts';

/** Example of a mode that a contributor adds: this file holds all of it. */
export const toyMode = defineMode({
  type: 'password',
  description: 'all clients send one password.',
  hasUsers: true,
  spec: Closed(
    {
      userName: Type.String({ maxLength: 64, description: 'User of every client.' }),
      passwordSecretRef: secretKeyRef('Password.'),
    },
    { description: 'Set when `type` is `password`.' },
  ),
  rules: [
    rule<{ readonly userName: string }>('', {
      field: 'userName',
      rule: "!self.userName.contains(':')",
      message: 'userName must not contain a colon',
      check: (self) => !self.userName.includes(':'),
    }),
  ],
  config: Closed({ user_name: Type.String(), password_file: Type.Optional(Type.String()) }),
  resolve({ userName, passwordSecretRef }, scope) {
    if (!passwordSecretRef) scope.problem({ reason: 'PasswordMissing', path: 'passwordSecretRef', message: 'set the password' });
    return { config: { user_name: userName, ...(passwordSecretRef && { password_file: scope.secretFile(passwordSecretRef) }) } };
  },
  create: ({ user_name: subject, password_file: file = '' }, { readSecret, now }) => ({
    validate(token) {
      if (token !== readSecret(file)) throw new TokenRefused('signature');
      const expiresAt = now() + 60_000;
      return {
        principal: subject,
        issuer: 'toy',
        subject,
        scopes: new Set<string>(),
        claims: {},
        token: new Secret(token),
        expiresAt,
      };
    },
    liveness: () => true,
    warmUp: () => undefined,
    status: () => ({ ready: true }),
    close: () => undefined,
    issuer: () => undefined,
  }),
});
