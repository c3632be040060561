import { definePolicy, type Decision, type PolicyCall } from '../policy.ts';
import { resolveWebhooks, webhookProblems, webhookRules, webhooksConfig, webhooksSpec } from './config.ts';
import { createWebhook, type Webhook } from './webhook.ts';

const DESCRIPTION =
  'Webhooks that may deny a call or change its arguments, in order: each reads the result of the one before.';

/** Asks webhooks that may deny a call or change its arguments. They precede every policy that reads arguments. */
export const mutatingWebhooks = definePolicy({
  type: 'mutating',
  description: DESCRIPTION,
  spec: webhooksSpec(DESCRIPTION),
  rules: webhookRules,
  config: webhooksConfig,
  member: 'mutating_webhooks',
  resolve: resolveWebhooks,
  check: webhookProblems,
  create(config, deps) {
    const webhooks = config.map((each) => createWebhook(each, 'mutating', deps));
    return { decide: (call) => mutate(call, webhooks) };
  },
});

async function mutate(call: PolicyCall, webhooks: readonly Webhook[]): Promise<Decision> {
  let args = call.arguments;
  for (const webhook of webhooks) {
    const result = await webhook.ask(call, args);
    if (result.verdict !== 'continue') return result;
    args = result.arguments;
  }
  return args === undefined || args === call.arguments ? { verdict: 'allow' } : { verdict: 'allow', arguments: args };
}
