import type { AuditEventType } from '../contract/run-config/audit.ts';

interface MethodType {
  readonly type: AuditEventType;
  /** Kind of the item that the method names. */
  readonly target?: 'tool' | 'resource' | 'prompt';
}

/** Event type of each MCP method that has one of its own. */
const METHODS: ReadonlyMap<string, MethodType> = new Map<string, MethodType>([
  ['initialize', { type: 'mcp_initialize' }],
  ['tools/call', { type: 'mcp_tool_call', target: 'tool' }],
  ['tools/list', { type: 'mcp_tools_list' }],
  ['resources/read', { type: 'mcp_resource_read', target: 'resource' }],
  ['resources/list', { type: 'mcp_resources_list' }],
  ['resources/templates/list', { type: 'mcp_resources_list' }],
  ['resources/subscribe', { type: 'mcp_request', target: 'resource' }],
  ['resources/unsubscribe', { type: 'mcp_request', target: 'resource' }],
  ['resources/directory/read', { type: 'mcp_request', target: 'resource' }],
  ['skills/get', { type: 'mcp_request', target: 'resource' }],
  ['prompts/get', { type: 'mcp_prompt_get', target: 'prompt' }],
  ['prompts/list', { type: 'mcp_prompts_list' }],
  ['completion/complete', { type: 'mcp_completion' }],
  ['logging/setLevel', { type: 'mcp_logging' }],
  ['tasks/get', { type: 'mcp_request', target: 'tool' }],
  ['tasks/update', { type: 'mcp_request', target: 'tool' }],
  ['tasks/cancel', { type: 'mcp_request', target: 'tool' }],
  ['ping', { type: 'mcp_ping' }],
  ['notifications/roots/list_changed', { type: 'mcp_roots_list_changed' }],
]);

const OTHER: MethodType = { type: 'mcp_request' };
const NOTIFICATION: MethodType = { type: 'mcp_notification' };

/** Returns the event type of a message; undefined stands for a response to a request of a server. */
export const typeOfMethod = (method: string | undefined): MethodType =>
  METHODS.get(method ?? '') ?? (method?.startsWith('notifications/') ? NOTIFICATION : OTHER);

/** Returns the event type of a request without a message that could be read. */
export function typeOfRequest(endpoint: string, httpMethod: string): AuditEventType {
  if (endpoint === '/sse') return 'sse_connection';
  if (endpoint !== '/mcp' && endpoint !== '/messages') return 'http_request';
  return httpMethod === 'GET' ? 'sse_connection' : 'mcp_request';
}
