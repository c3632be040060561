import { methodOf } from '../contract/protocol/methods.ts';
import type { Peer } from './call-observer.ts';
import type { MeasuredOperation } from './operation-series.ts';

/** Attributes of OpenTelemetry, by name. */
export type Attributes = Readonly<Record<string, string | number>>;

const JSON_RPC_CODE = /^-?\d+$/u;

/** Returns true for the `error.type` of a call that has a reply of its backend, and for none. */
export const isReply = (errorType: string): boolean =>
  errorType === '' || errorType === 'tool_error' || JSON_RPC_CODE.test(errorType);

/**
 * Returns the attributes of an operation that spans and metrics share. @see OpenTelemetry semantic-conventions-genai,
 * gen-ai/mcp.md, at commit 0393513c908bf895e7b3ec480a2c1eb073c584af
 */
export function attributesOf({ method, target, errorType, revision }: MeasuredOperation): Attributes {
  const { callsTool, target: kind } = methodOf(method);
  return {
    ...(method !== '' && { 'mcp.method.name': method }),
    ...(callsTool && { 'gen_ai.operation.name': 'execute_tool' }),
    ...(target !== '' && { [kind === 'tool' ? 'gen_ai.tool.name' : 'gen_ai.prompt.name']: target }),
    ...(errorType !== '' && { 'error.type': errorType }),
    ...(JSON_RPC_CODE.test(errorType) && { 'rpc.response.status_code': errorType }),
    ...(revision !== '' && { 'mcp.protocol.version': revision }),
  };
}

export const peerAttributes = ({ transport, address, port }: Peer): Attributes => ({
  'network.transport': transport,
  ...(transport === 'tcp' && { 'network.protocol.name': 'http' }),
  ...(address !== undefined && { 'server.address': address }),
  ...(port !== undefined && { 'server.port': port }),
});
