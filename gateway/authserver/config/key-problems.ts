import type { Problem } from '../../contract/problem.ts';
import type { EmbeddedAuthServerConfig } from '../../contract/run-config-auth-server.ts';
import { lifespansOf } from '../core/lifespans.ts';
import { signingKeyFiles } from '../keys/key-files.ts';
import { invalid, repeated } from './problem.ts';

const MAX_SECRETS = 5;

/** What tokens are signed with, and how long they live. */
export const keyProblems = (config: EmbeddedAuthServerConfig): Problem[] => [
  ...lifespansOf(config.token_lifespans).problems,
  ...signingKeyFiles(config.signing_key_config).problems,
  ...secretProblems(config.hmac_secret_files ?? []),
];

function secretProblems(files: readonly string[]): Problem[] {
  const path = 'hmac_secret_files';
  return [
    ...(files.length > MAX_SECRETS ? [invalid(path, `use at most ${String(MAX_SECRETS)} secrets`)] : []),
    ...(files.includes('') ? [invalid(`${path}[${String(files.indexOf(''))}]`, 'name a file')] : []),
    ...repeated(files, path, 'name every secret once'),
  ];
}
