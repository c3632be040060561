import { authServerProblems } from './authserver/config/problems.ts';
import { GatewayConfig } from './contract/gateway-config.ts';
import { gatewayConfigProblems } from './contract/gateway-config-rules.ts';
import { outgoingProblems } from './contract/outgoing-rules.ts';
import type { Problem } from './contract/problem.ts';
import { readDocument } from './contract/run-config-document.ts';
import { readOutgoingEntry, STRATEGIES } from './outgoing/index.ts';
import { fileType } from './outgoing/registry.ts';

type Read = { readonly config: GatewayConfig } | { readonly problems: Problem[] };

/** Reads a rendered configuration: the whole of it is valid or it is not used. Paths are JSON paths in the document. */
export function readGatewayConfig(text: string): Read {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    const message = `the file is not JSON: ${error instanceof Error ? error.message : String(error)}`;
    return { problems: [{ reason: 'InvalidJSON', path: '(document)', message }] };
  }
  return checkGatewayConfig(json);
}

/** `readGatewayConfig` of what has been parsed already. */
export function checkGatewayConfig(json: unknown): Read {
  const read = readDocument(GatewayConfig, json);
  if ('problems' in read) return read;
  const strategies = readStrategies(read.config);
  const problems = [
    ...gatewayConfigProblems(read.config),
    ...strategies.problems,
    ...outgoingProblems(read.config, NEEDS),
    ...authServerProblems(read.config),
  ];
  if (problems.length > 0) return { problems };
  const { outgoing_auth: entries } = read.config.vmcp;
  if (!entries) return read;
  return { config: { ...read.config, vmcp: { ...read.config.vmcp, outgoing_auth: strategies.entries } } };
}

/** What each strategy, by its name in the document, cannot do without. */
const NEEDS = new Map(
  STRATEGIES.map(({ type, perUser, needsAuthServer }) => [
    fileType(type),
    { user: perUser, authServer: needsAuthServer === true },
  ]),
);

/** Every entry of `vmcp.outgoing_auth` as its strategy reads it. */
function readStrategies({ vmcp }: GatewayConfig) {
  const read = Object.entries(vmcp.outgoing_auth ?? {}).map(([name, entry]) => ({ name, ...readOutgoingEntry(entry) }));
  return {
    entries: Object.fromEntries(read.flatMap((each) => ('config' in each ? [[each.name, each.config] as const] : []))),
    problems: read.flatMap((each) =>
      'config' in each ? [] : each.problems.map((problem) => below(`vmcp.outgoing_auth.${each.name}`, problem)),
    ),
  };
}

const below = (prefix: string, problem: Problem): Problem => ({
  ...problem,
  path: problem.path === '' ? prefix : `${prefix}.${problem.path}`,
});
