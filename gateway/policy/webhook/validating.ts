import { ALLOW, definePolicy, type Decision, type PolicyCall } from '../policy.ts';
import { resolveWebhooks, webhookProblems, webhookRules, webhooksConfig, webhooksSpec } from './config.ts';
import { createWebhook, type Webhook } from './webhook.ts';

const DESCRIPTION = 'Webhooks that may deny a call, in order. They read the arguments that the backend receives.';

/** Asks webhooks that may deny a call but not change it. */
export const validatingWebhooks = definePolicy({
  type: 'validating',
  description: DESCRIPTION,
  spec: webhooksSpec(DESCRIPTION),
  rules: webhookRules,
  config: webhooksConfig,
  member: 'validating_webhooks',
  resolve: resolveWebhooks,
  check: webhookProblems,
  create(config, deps) {
    const webhooks = config.map((each) => createWebhook(each, 'validating', deps));
    return { decide: (call) => validate(call, webhooks) };
  },
});

async function validate(call: PolicyCall, webhooks: readonly Webhook[]): Promise<Decision> {
  for (const webhook of webhooks) {
    const result = await webhook.ask(call, call.arguments);
    if (result.verdict !== 'continue') return result;
  }
  return ALLOW;
}
