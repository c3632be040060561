import { Type } from 'typebox';
import { Closed } from '../../contract/fields.ts';
import { secretKeyRef } from '../../contract/references.ts';
import { rule } from '../../contract/rule.ts';
import { defineStrategy } from '../strategy.ts';

/** A strategy as somebody might add it: everything about it stands in this file. */
export const toyStrategy = defineStrategy({
  type: 'toyLogin',
  description: 'User name and password.',
  perUser: false,
  spec: Closed(
    {
      userName: Type.String({ maxLength: 64, description: 'Who logs in.' }),
      passwordSecretRef: secretKeyRef('With which password.'),
    },
    { description: 'Set when `type` is `toyLogin`.' },
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
    if (!passwordSecretRef) {
      scope.problem({ reason: 'PasswordMissing', path: 'passwordSecretRef', message: 'set the password' });
    }
    return { user_name: userName, ...(passwordSecretRef && { password_file: scope.secretFile(passwordSecretRef) }) };
  },
  check: ({ user_name }) =>
    user_name === 'root' ? [{ reason: 'InvalidValue', path: 'user_name', message: 'use another user' }] : [],
  create: ({ user_name, password_file = '' }, { readSecret }) => ({
    perUser: false,
    headers: () => ({ authorization: `Basic ${btoa(`${user_name}:${readSecret(password_file)}`)}` }),
    refused: () => false,
  }),
});
