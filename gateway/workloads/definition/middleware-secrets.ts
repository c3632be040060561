import { isObject } from '../../contract/json.ts';
import type { RunConfig } from '../../contract/run-config/run-config.ts';
import { readReference } from './run-config-of.ts';

type Chain = NonNullable<RunConfig['middleware_configs']>;

const SECRET_MEMBER = /^(?:client_?secret|bearer_?token|hmac_?secret|password)$/iu;

/** Middleware whose parameters are the values of headers, also of those that come from secrets. */
const HEADERS = 'header-forward';

/** Removes secret values, not references to secrets, from the parameters of middlewares. Pure. */
export const withoutSecretValues = (chain: Chain): Chain =>
  chain.map((middleware) => {
    const { type, parameters } = middleware;
    if (parameters === undefined) return middleware;
    return { ...middleware, parameters: type === HEADERS ? {} : (redacted(parameters) as object) };
  });

function redacted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redacted);
  if (!isObject(value)) return value;
  const isSecret = ([name, member]: [string, unknown]): boolean =>
    SECRET_MEMBER.test(name) && typeof member === 'string' && readReference(member) === undefined;
  const kept = Object.entries(value).filter((entry) => !isSecret(entry));
  return Object.fromEntries(kept.map(([name, member]) => [name, redacted(member)]));
}
