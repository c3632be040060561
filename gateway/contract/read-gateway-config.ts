import { GatewayConfig } from './gateway-config.ts';
import { gatewayConfigProblems } from './gateway-config-rules.ts';
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
  const problems = gatewayConfigProblems(read.config);
  return problems.length > 0 ? { problems } : read;
}
