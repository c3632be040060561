import type { GatewayConfig } from '../../gateway/contract/gateway-config.ts';
import type { VariantScope } from '../../gateway/contract/variant.ts';
import { mutatingWebhooks } from '../../gateway/policy/webhook/mutating.ts';
import { validatingWebhooks } from '../../gateway/policy/webhook/validating.ts';
import { checkReferences } from './references.ts';
import type { ObjectScope, Scope } from './scope.ts';
import type { MCPWebhookConfig } from './snapshot.ts';
import { checkUserUrl } from './user-url.ts';

type Webhooks = Pick<GatewayConfig, 'mutating_webhooks' | 'validating_webhooks'>;

/** Resolves the webhooks that a virtual server refers to; none when the config is missing, as its reference reports. */
export function resolveWebhooks(scope: Scope): Webhooks {
  const ref = scope.vmcp.spec.webhookConfigRef;
  const config = ref && scope.snapshot.webhookConfigs.get(ref.name);
  return config ? webhooksOf(config, scope) : {};
}

/** Checks an MCPWebhookConfig independently of the servers that use it. */
export function checkWebhooks(config: MCPWebhookConfig, scope: ObjectScope): void {
  webhooksOf(config, scope);
}

function webhooksOf(config: MCPWebhookConfig, scope: ObjectScope): Webhooks {
  checkReferences(config, scope, scope.on(config));
  const { mutating, validating } = config.spec;
  warnOfUnverified(config, scope);
  return {
    ...(mutating && { mutating_webhooks: mutatingWebhooks.resolve(mutating, scopeOf('mutating', config, scope)) }),
    ...(validating && {
      validating_webhooks: validatingWebhooks.resolve(validating, scopeOf('validating', config, scope)),
    }),
  };
}

function scopeOf(list: 'mutating' | 'validating', config: MCPWebhookConfig, scope: ObjectScope): VariantScope {
  const report = scope.on(config);
  return {
    upstreams: new Set(),
    secretFile: ({ name, key }) => scope.mount('Secret', name, key),
    checkUrl(url, below, flags) {
      const path = `spec.${list}${below}`;
      checkUserUrl(url, { path, block: path.replace(/\.url$/u, ''), flags, mode: scope.platform.mode }, report);
    },
    problem({ reason, path, message }) {
      report.problem(reason, `spec.${list}${path}`, message);
    },
  };
}

function warnOfUnverified(config: MCPWebhookConfig, scope: ObjectScope): void {
  for (const list of ['mutating', 'validating'] as const) {
    config.spec[list]?.forEach(({ tlsConfig }, index) => {
      if (tlsConfig?.insecureSkipVerify !== true) return;
      const message =
        'the certificate of the webhook is not verified, so anyone on the network path can allow or change calls: remove it, and set caSecretRef';
      scope.on(config).warning('UnverifiedTLS', `spec.${list}[${String(index)}].tlsConfig.insecureSkipVerify`, message);
    });
  }
}
