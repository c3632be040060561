import { block, blocks, flag, text, texts, whole } from '../optional.ts';

/** Members of one webhook. Beyond the specification: `claims`, `allow_private_ips`, `insecure_allow_http`. */
export const webhookMembers = {
  name: text('Name.'),
  url: text('URL of the webhook.'),
  timeout: whole('Timeout for the response, in nanoseconds.'),
  failure_policy: text('Outcome of a request while the webhook is unreachable.'),
  hmac_secret_ref: text('Name of the secret, or absolute path of the file, that signs the request.'),
  tls_config: block(
    'TLS to the webhook.',
    {
      ca_bundle_path: text('PEM certificates trusted in addition to the system roots.'),
      client_cert_path: text('Client certificate.'),
      client_key_path: text('Key of the client certificate.'),
      insecure_skip_verify: flag('Do not verify the certificate. Development only.'),
    },
    { title: 'WebhookTls' },
  ),
  claims: texts('Claims of the token that the webhook receives, beside `name`, `email` and `groups`.'),
  allow_private_ips: flag('Allow private addresses for the webhook.'),
  insecure_allow_http: flag('Allow an http URL for the webhook.'),
};

export const webhooks = (description: string) => blocks(description, webhookMembers, {}, { title: 'Webhook' });
