import { TokenRefused } from './refusal.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export interface JwtParts {
  readonly header: JsonObject & { readonly alg: string };
  /** Not decoded yet. */
  readonly payload: string;
}

const BASE64URL = /^[\w-]*$/;

/** The JSON object that a base64url part holds; undefined for anything else. */
export function decodeObject(part: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The parts of a token that is a JWT, or undefined for an opaque one. The verdict stands: a JWT is never introspected
 * and an opaque token never verified, whatever comes of it. Throws `TokenRefused` for an encrypted token.
 */
export function classify(token: string): JwtParts | undefined {
  const parts = token.split('.', 6);
  if (parts.length === 5) throw new TokenRefused('encrypted');
  const [first = '', payload = ''] = parts;
  if (parts.length !== 3 || !parts.every((part) => BASE64URL.test(part))) return undefined;
  const header = decodeObject(first);
  return typeof header?.['alg'] === 'string' ? { header: header as JwtParts['header'], payload } : undefined;
}
