import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../../contract/logger.ts';
import { RANDOM_BYTES } from '../core/opaque-token.ts';
import { readHmacSecret } from './secrets.ts';
import { newSigningPem, readSigningKey } from './signing-keys.ts';
import { replaceFileSync } from '../../kit/files.ts';
import { missing, problem, type Problem } from '../../contract/problem.ts';
import type { EmbeddedAuthServerConfig } from '../../contract/run-config/auth-server.ts';

type SigningKeyConfig = NonNullable<EmbeddedAuthServerConfig['signing_key_config']>;

const MAX_KEYS = 5;
const PATH = 'signing_key_config';

/** Returns the paths of the signing keys, that of the key that signs first. Problems start at `embedded_auth_server_config`. */
export function signingKeyFiles(config: SigningKeyConfig | undefined): {
  readonly files: readonly string[];
  readonly problems: readonly Problem[];
} {
  if (config === undefined) return { files: [], problems: [] };
  const { key_dir: folder = '', signing_key_file: first = '', fallback_key_files: fallbacks = [] } = config;
  const problems = [
    ...(folder === '' ? [missingMember('key_dir', 'set the folder of the keys')] : []),
    ...(first === ''
      ? [missingMember('signing_key_file', 'set the file of the signing key')]
      : nameProblems(first, 'signing_key_file')),
    ...fallbacks.flatMap((name, index) => nameProblems(name, `fallback_key_files[${index}]`)),
    ...countProblems([first, ...fallbacks]),
  ];
  if (problems.length > 0) return { files: [], problems };
  return { files: [first, ...fallbacks].map((name) => join(folder, name)), problems };
}

const missingMember = (member: string, message: string): Problem => missing(`${PATH}.${member}`, message);

const invalidFile = (member: string, message: string): Problem =>
  problem('InvalidKeyFile', `${PATH}.${member}`, message);

function nameProblems(name: string, member: string): Problem[] {
  const parts = name.split('/');
  if (!parts.includes('') && !parts.includes('..') && !name.includes('\0')) return [];
  return [invalidFile(member, 'the file must be below key_dir: write a relative path without ..')];
}

function countProblems(names: readonly string[]): Problem[] {
  const problems: Problem[] = [];
  if (names.length > MAX_KEYS)
    problems.push(invalidFile('fallback_key_files', `use at most ${MAX_KEYS} keys in total`));
  if (new Set(names).size < names.length) problems.push(invalidFile('fallback_key_files', 'list every key once'));
  return problems;
}

interface Kind {
  readonly name: string;
  readonly create: () => string;
  /** Throws for a content that is no such key. */
  readonly check: (content: string) => unknown;
}

const KINDS = {
  signing: { name: 'signing-key.pem', create: newSigningPem, check: readSigningKey },
  hmac: {
    name: 'hmac-secret',
    create: () => randomBytes(RANDOM_BYTES).toString('base64url'),
    check: (content) => readHmacSecret(content, () => undefined),
  },
} as const satisfies Readonly<Record<string, Kind>>;

/**
 * Returns the file of a generated key in `folder`. Creates a missing file, and replaces an unusable file, such as a
 * truncated file. Throws the system's error if the file cannot be written.
 */
export function generatedKey(kind: keyof typeof KINDS, folder: string, log: Pick<Logger, 'warn'>): string {
  const { name, create, check }: Kind = KINDS[kind];
  const file = join(folder, name);
  try {
    check(readFileSync(file, 'latin1'));
    chmodSync(file, 0o600);
    return file;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      log.warn('a generated key is unusable and replaced: its tokens are invalid from now on', { file });
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  replaceFileSync(file, create());
  return file;
}
