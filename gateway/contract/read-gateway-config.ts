import { GatewayConfig } from './gateway-config.ts';
import type { Problem } from './problem.ts';
import { readDocument } from './run-config-document.ts';

/** Reads a rendered configuration: the whole of it is valid or it is not used. Paths are JSON paths in the document. */
export function readGatewayConfig(text: string): { readonly config: GatewayConfig } | { readonly problems: Problem[] } {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    const message = `the file is not JSON: ${error instanceof Error ? error.message : String(error)}`;
    return { problems: [{ reason: 'InvalidJSON', path: '(document)', message }] };
  }
  const read = readDocument(GatewayConfig, json);
  if ('problems' in read) return read;
  const problems = crossChecks(read.config);
  return problems.length > 0 ? { problems } : read;
}

/** What the schema cannot say. */
function crossChecks({ vmcp }: GatewayConfig): Problem[] {
  const problems: Problem[] = [];
  const names = new Set<string>();
  vmcp.backends.forEach(({ name, transport, url, process }, index) => {
    const path = `vmcp.backends[${String(index)}]`;
    if (names.has(name)) {
      problems.push({
        reason: 'BackendNameConflict',
        path: `${path}.name`,
        message: `two backends are named "${name}"`,
      });
    }
    names.add(name);
    if (transport === 'stdio' ? process === undefined : url === undefined) {
      const member = transport === 'stdio' ? 'process' : 'url';
      problems.push({
        reason: 'MissingField',
        path: `${path}.${member}`,
        message: `a backend of transport ${transport} needs "${member}"`,
      });
    }
  });
  if (vmcp.incoming.type !== 'anonymous') {
    problems.push({
      reason: 'NotSupportedYet',
      path: 'vmcp.incoming.type',
      message: 'only anonymous is built: nothing is served, so that nothing is open by mistake',
    });
  }
  return problems;
}
