import { cloudSts } from './cloud-sts/cloud-sts.ts';
import { headerInjection } from './header-injection.ts';
import { outgoingRegistry } from './strategy.ts';
import { tokenExchange } from './token-exchange/token-exchange.ts';
import { unauthenticated } from './unauthenticated.ts';
import { upstreamInject } from './upstream-inject.ts';

/** Every strategy of MCPExternalAuthConfig. A new one is one line here. */
export const STRATEGIES = [unauthenticated, upstreamInject, tokenExchange, headerInjection, cloudSts] as const;

export const { createAuthenticator, readOutgoingEntry, resolveStrategy } = outgoingRegistry(STRATEGIES);
