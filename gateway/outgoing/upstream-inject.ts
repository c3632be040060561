import { Closed, DnsLabel } from '../contract/fields.ts';
import { declareStrategy } from './strategy.ts';

/** Sends the upstream token stored at login in place of the caller's own. */
export const upstreamInject = declareStrategy({
  type: 'upstreamInject',
  description: 'The upstream token stored at login replaces the caller’s own.',
  spec: Closed(
    { providerName: DnsLabel('Name in `authServerConfig.upstreamProviders` of the VirtualMCPServer.') },
    { description: 'Set when `type` is `upstreamInject`.' },
  ),
});
