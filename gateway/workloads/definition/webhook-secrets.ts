import { isObject } from '../../contract/json.ts';
import type { Problem } from '../../contract/problem.ts';
import type { RunConfig } from '../../contract/run-config/run-config.ts';
import { secretPath } from '../../contract/run-config/secret-path.ts';
import { readReference } from './run-config-of.ts';

const LISTS = ['mutating_webhooks', 'validating_webhooks'] as const;

/** Key of the signature as a value, in any spelling: other programs write it so in middlewares. */
const INLINE_KEY = /^hmac_?secret$/iu;

/**
 * Lists signing keys of webhooks that stand as values in a run configuration, checked or not. They are not kept, and the webhook would get
 * unsigned requests. Messages do not contain the key. Pure.
 */
export const inlineKeyProblems = (config: Readonly<Record<string, unknown>>): Problem[] =>
  [...LISTS, 'middleware_configs'].flatMap((member) => inlineKeys(config[member], member));

function inlineKeys(value: unknown, path: string): Problem[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => inlineKeys(item, `${path}[${String(index)}]`));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const at = `${path}.${name}`;
    if (!INLINE_KEY.test(name)) return inlineKeys(member, at);
    if (member === undefined || member === null || member === '') return [];
    const message =
      'holds a signing key: store it with POST /api/v1beta/secrets/default/keys, name that secret in hmac_secret_ref, and remove this member';
    return [{ reason: 'InvalidValue', path: at, message }];
  });
}

/** Returns the name of the secret that `hmac_secret_ref` refers to as `NAME` or `NAME,target=TARGET`; undefined for other texts. */
function secretNameOf(reference: string): string | undefined {
  if (reference.startsWith('/')) return undefined;
  return readReference(reference)?.name ?? (/^[^,\s]+$/u.test(reference) ? reference : undefined);
}

/** Returns the webhooks with paths of `secretPath` in place of names of secrets. Pure. */
export const webhooksWithSecretPaths = (config: RunConfig): Pick<RunConfig, (typeof LISTS)[number]> =>
  Object.fromEntries(
    LISTS.flatMap((list) => {
      const webhooks = config[list];
      if (webhooks === undefined) return [];
      const withPaths = webhooks.map((webhook) => {
        const name = secretNameOf(webhook.hmac_secret_ref ?? '');
        return name === undefined ? webhook : { ...webhook, hmac_secret_ref: secretPath(name) };
      });
      return [[list, withPaths]];
    }),
  );

/** Lists the names of the secrets that sign requests to webhooks, with the member that names them. */
export const webhookSecretsOf = (config: RunConfig): { readonly name: string; readonly path: string }[] =>
  LISTS.flatMap((list) =>
    (config[list] ?? []).flatMap(({ hmac_secret_ref: reference = '' }, index) => {
      const name = secretNameOf(reference);
      return name === undefined ? [] : [{ name, path: `${list}[${String(index)}].hmac_secret_ref` }];
    }),
  );

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
