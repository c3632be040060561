import { Type } from 'typebox';
import { Closed } from '../contract/fields.ts';
import { headerNameProblems } from '../contract/reserved-names.ts';
import { SecretKeyRef } from '../contract/references.ts';
import { HEADER_NAME_PATTERN, OWN_CREDENTIAL, safeHeader } from '../contract/rule.ts';
import { CredentialError, type Authenticator, type CredentialHeaders, type StrategyDeps } from './authenticator.ts';
import { isSendable, readCredentialFile } from './credential-header.ts';
import { defineStrategy } from './strategy.ts';

const config = Closed({
  header_name: Type.String({ minLength: 1, description: 'Name of the header.' }),
  header_value_file: Type.String({ minLength: 1, description: 'Path of the file that holds its value.' }),
});

/** Sends a fixed header from a Secret. */
export const headerInjection = defineStrategy({
  type: 'headerInjection',
  description: 'A fixed header is sent, with its value from a Secret.',
  perUser: false,
  spec: Closed(
    {
      headerName: Type.String({
        pattern: HEADER_NAME_PATTERN,
        minLength: 1,
        maxLength: 255,
        description: 'Name of the header.',
      }),
      valueSecretRef: SecretKeyRef('Value of the header.'),
    },
    { description: 'Set when `type` is `headerInjection`.' },
  ),
  rules: [safeHeader('', 'headerName', OWN_CREDENTIAL)],
  config,
  resolve({ headerName, valueSecretRef }, scope) {
    for (const problem of headerNameProblems(headerName, 'headerName', OWN_CREDENTIAL)) scope.problem(problem);
    return { header_name: headerName, header_value_file: scope.secretFile(valueSecretRef) };
  },
  check: ({ header_name }) => headerNameProblems(header_name, 'header_name', OWN_CREDENTIAL),
  create: ({ header_name, header_value_file }, deps) => injector(header_name.toLowerCase(), header_value_file, deps),
});

function injector(name: string, file: string, deps: StrategyDeps): Authenticator {
  let value: string | undefined;
  let headers: CredentialHeaders = {};

  const current = (): CredentialHeaders => {
    const text = readCredentialFile(deps, file);
    if (text === value) return headers;
    if (!isSendable(text)) {
      const message = `the file ${file} is empty, or holds a character that no header may hold`;
      throw new CredentialError('misconfigured', message);
    }
    value = text;
    headers = Object.freeze({ [name]: text });
    return headers;
  };

  return {
    perUser: false,
    headers: current,
    /** Retries only when the file has changed: the same value would be rejected again. */
    refused(_caller, sent) {
      try {
        return current()[name] !== sent[name];
      } catch {
        return false;
      }
    },
  };
}
