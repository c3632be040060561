import type { ConditionCase } from './condition-case.ts';
import { OF_AUTH_SERVERS } from './condition-cases-auth-servers.ts';
import { OF_CONTROLS } from './condition-cases-controls.ts';
import { OF_GATEWAYS } from './condition-cases-gateways.ts';
import { OF_CONFIGS, OF_ENTRIES, OF_SERVERS, ofBundles } from './condition-cases-members.ts';
import { OF_TOOL_CONFIGS } from './condition-cases-tools.ts';

/** Returns a case for each condition and reason that a change of resources causes. `certificate` is any certificate in PEM. */
export const conditionCases = (certificate: string): readonly ConditionCase[] => [
  ...OF_GATEWAYS,
  ...OF_AUTH_SERVERS,
  ...OF_SERVERS,
  ...OF_ENTRIES,
  ...ofBundles(certificate),
  ...OF_CONFIGS,
  ...OF_TOOL_CONFIGS,
  ...OF_CONTROLS,
];
