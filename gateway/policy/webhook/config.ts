import { Type, type Static } from 'typebox';
import { between } from '../../contract/duration.ts';
import { Closed, DnsLabel, Duration, durationMs, HttpUrl } from '../../contract/fields.ts';
import { ATOMIC, block, flag, mapBy, texts } from '../../contract/optional.ts';
import type { Problem } from '../../contract/problem.ts';
import { secretKeyRef } from '../../contract/references.ts';
import { isAbsoluteFile, secretOfPath } from '../../contract/run-config/secret-path.ts';
import { at, needs, safeUrl } from '../../contract/rule.ts';
import type { VariantScope } from '../../contract/variant.ts';
import { urlProblems } from '../../contract/addresses.ts';
import { webhookMembers } from '../../contract/run-config/run-config.ts';

export const DEFAULT_TIMEOUT = '10s';
const SHORTEST = '1s';
const LONGEST = '30s';
/** Bounds the time that all webhooks together may take, and the size of the resource. */
const MAX_WEBHOOKS = 16;
const NS_PER_MS = 1_000_000;

const FAILURE_POLICIES = ['fail', 'ignore'] as const;
const CLAIM = { minLength: 1, maxLength: 253 };

/** Webhook as a resource describes it. */
const webhookSpec = Closed({
  name: DnsLabel('Name, unique in its list. Shown in errors, logs and metrics.'),
  url: HttpUrl('URL that receives the requests.', { maxLength: 2048 }),
  timeout: Type.Optional(
    Duration('Time limit of one request, from 1s to 30s.', { default: DEFAULT_TIMEOUT, maxLength: 32 }),
  ),
  failurePolicy: Type.Optional(
    Type.Enum([...FAILURE_POLICIES], {
      default: 'fail',
      description:
        'Outcome of a call when the webhook gives no usable answer. `fail`: the call is refused. `ignore`: the call continues without this webhook. A denial is never ignored.',
    }),
  ),
  hmacSecretRef: secretKeyRef('Key of at least 32 bytes that signs the requests (HMAC-SHA256).'),
  claims: texts(
    'Claims of the token that the webhook receives, in addition to `name`, `email` and `groups`.',
    { maxItems: 64, ...ATOMIC },
    CLAIM,
  ),
  tlsConfig: block('TLS to the webhook.', {
    caSecretRef: secretKeyRef('PEM certificates trusted in addition to the system roots.'),
    clientCertSecretRef: secretKeyRef('PEM client certificate.'),
    clientKeySecretRef: secretKeyRef('PEM key of the client certificate.'),
    insecureSkipVerify: flag('Do not verify the certificate of the webhook. Development only.'),
  }),
  allowPrivateIPs: flag('Allow a private address, such as that of a Service in the cluster.'),
  insecureAllowHTTP: flag('Allow an http URL. Requests are readable and answers can be forged on their way.'),
});

/** List of webhooks in a resource. */
export const webhooksSpec = (description: string) =>
  Type.Array(webhookSpec, { minItems: 1, maxItems: MAX_WEBHOOKS, description, ...mapBy('name') });

type WebhookSpec = Static<typeof webhookSpec>;

/** Rules of a list of webhooks. */
export const webhookRules = at('[]', [
  safeUrl('', 'url'),
  between('', 'timeout', SHORTEST, LONGEST),
  ...at('tlsConfig', [needs('', 'clientCertSecretRef', 'clientKeySecretRef')]),
  ...at('tlsConfig', [needs('', 'clientKeySecretRef', 'clientCertSecretRef')]),
]);

/** List of webhooks in the gateway's configuration. */
export const webhooksConfig = Type.Array(
  Closed({
    ...webhookMembers,
    name: Type.String({ minLength: 1, maxLength: 63 }),
    url: Type.String({ minLength: 1 }),
    timeout: Type.Optional(
      Type.Integer({ minimum: durationMs(SHORTEST) * NS_PER_MS, maximum: durationMs(LONGEST) * NS_PER_MS }),
    ),
    failure_policy: Type.Optional(Type.Enum([...FAILURE_POLICIES])),
  }),
  { maxItems: MAX_WEBHOOKS },
);

export type WebhooksConfig = Static<typeof webhooksConfig>;
export type WebhookConfig = WebhooksConfig[number];

/** Converts the webhooks of a resource. Paths of problems start at the list. */
export const resolveWebhooks = (webhooks: readonly WebhookSpec[], scope: VariantScope): WebhooksConfig =>
  webhooks.map((given, index) => {
    const { name, url, timeout = DEFAULT_TIMEOUT, failurePolicy, hmacSecretRef, claims, tlsConfig = {} } = given;
    const { caSecretRef, clientCertSecretRef, clientKeySecretRef, insecureSkipVerify } = tlsConfig;
    scope.checkUrl(url, `[${String(index)}].url`, given);
    const tls = {
      ...(caSecretRef && { ca_bundle_path: scope.secretFile(caSecretRef) }),
      ...(clientCertSecretRef && { client_cert_path: scope.secretFile(clientCertSecretRef) }),
      ...(clientKeySecretRef && { client_key_path: scope.secretFile(clientKeySecretRef) }),
      ...(insecureSkipVerify && { insecure_skip_verify: true }),
    };
    return {
      name,
      url,
      timeout: Math.round(durationMs(timeout) * NS_PER_MS),
      failure_policy: failurePolicy ?? 'fail',
      ...(hmacSecretRef && { hmac_secret_ref: scope.secretFile(hmacSecretRef) }),
      ...(claims && { claims }),
      ...(Object.keys(tls).length > 0 && { tls_config: tls }),
      ...(given.allowPrivateIPs && { allow_private_ips: true }),
      ...(given.insecureAllowHTTP && { insecure_allow_http: true }),
    };
  });

export const timeoutMsOf = ({ timeout }: WebhookConfig): number =>
  timeout === undefined ? durationMs(DEFAULT_TIMEOUT) : timeout / NS_PER_MS;

/** Lists problems of a configuration that its schema cannot find. Paths start at the list. */
export const webhookProblems = (webhooks: WebhooksConfig): Problem[] =>
  webhooks.flatMap((webhook, index) => {
    const path = `[${String(index)}]`;
    const isRepeated = webhooks.findIndex(({ name }) => name === webhook.name) < index;
    return [
      ...(isRepeated ? [broken(`${path}.name`, 'another webhook of this list has this name: choose another')] : []),
      ...urlProblems(webhook.url, `${path}.url`, webhook.insecure_allow_http === true),
      ...fileProblems(webhook, path),
    ];
  });

const broken = (path: string, message: string): Problem => ({ reason: 'RuleViolated', path, message });

/** Files are absolute paths, a workload's key may be a secret, and a client certificate comes with its key. */
function fileProblems({ hmac_secret_ref: key, tls_config: tls = {} }: WebhookConfig, path: string): Problem[] {
  const files = {
    hmac_secret_ref: key !== undefined && secretOfPath(key) !== undefined ? undefined : key,
    'tls_config.ca_bundle_path': tls.ca_bundle_path,
    'tls_config.client_cert_path': tls.client_cert_path,
    'tls_config.client_key_path': tls.client_key_path,
  };
  const relative = Object.entries(files).filter(([, file]) => file !== undefined && !isAbsoluteFile(file));
  const isHalf = (tls.client_cert_path === undefined) !== (tls.client_key_path === undefined);
  return [
    ...relative.map(([member]) => broken(`${path}.${member}`, 'must be the absolute path of a file')),
    ...(isHalf ? [broken(`${path}.tls_config`, 'set client_cert_path and client_key_path, or neither')] : []),
  ];
}
