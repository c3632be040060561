import type { AuditEventType } from '../run-config/audit.ts';

/** A method of MCP and what the gateway has to know of it beside its handler. A member that is absent is false. */
export interface McpMethod {
  readonly name: string;
  /** Type of its audit event. */
  readonly audit: AuditEventType;
  /** Kind of the item that it names, in audit events. */
  readonly item?: 'tool' | 'resource' | 'prompt';
  /** Member of `params` that names its item: `ref` holds the name or URI. */
  readonly itemMember?: 'name' | 'uri' | 'ref';
  /** Member of `params` that the header `Mcp-Name` repeats. @see MCP 2026-07-28, SEP-2243, SEP-2663 */
  readonly nameHeader?: 'name' | 'uri' | 'taskId';
  /** Kind of its item in metrics and spans. URIs are too many for them. */
  readonly target?: 'tool' | 'prompt';
  /** It executes a tool: rate limits count it, and headers repeat arguments. */
  readonly callsTool?: true;
  /** `params.arguments` may be read and replaced by policies. */
  readonly hasArguments?: true;
  /** The list that it reads. */
  readonly list?: 'tools' | 'resources' | 'templates' | 'prompts' | 'skills';
  /** Its result carries a hint how long a client may keep it, of the gateway or of the backend (`read`). */
  readonly hint?: 'own' | 'read';
  /** Its result may ask the client for input. @see MCP 2026-07-28, basic/patterns/mrtr, Supported Requests */
  readonly asksForInput?: true;
}

const METHODS: readonly McpMethod[] = [
  { name: 'initialize', audit: 'mcp_initialize' },
  {
    name: 'tools/call',
    audit: 'mcp_tool_call',
    item: 'tool',
    itemMember: 'name',
    nameHeader: 'name',
    target: 'tool',
    callsTool: true,
    hasArguments: true,
    asksForInput: true,
  },
  { name: 'tools/list', audit: 'mcp_tools_list', list: 'tools', hint: 'own' },
  {
    name: 'resources/read',
    audit: 'mcp_resource_read',
    item: 'resource',
    nameHeader: 'uri',
    hint: 'read',
    asksForInput: true,
  },
  { name: 'resources/list', audit: 'mcp_resources_list', list: 'resources', hint: 'own' },
  { name: 'resources/templates/list', audit: 'mcp_resources_list', list: 'templates', hint: 'own' },
  { name: 'resources/subscribe', audit: 'mcp_request', item: 'resource' },
  { name: 'resources/unsubscribe', audit: 'mcp_request', item: 'resource' },
  { name: 'resources/directory/read', audit: 'mcp_request', item: 'resource' },
  { name: 'skills/list', audit: 'mcp_request', list: 'skills', hint: 'own' },
  { name: 'skills/get', audit: 'mcp_request', item: 'resource', hint: 'read' },
  {
    name: 'prompts/get',
    audit: 'mcp_prompt_get',
    item: 'prompt',
    itemMember: 'name',
    nameHeader: 'name',
    target: 'prompt',
    hasArguments: true,
    asksForInput: true,
  },
  { name: 'prompts/list', audit: 'mcp_prompts_list', list: 'prompts', hint: 'own' },
  { name: 'completion/complete', audit: 'mcp_completion', itemMember: 'ref' },
  { name: 'logging/setLevel', audit: 'mcp_logging' },
  { name: 'tasks/get', audit: 'mcp_request', item: 'tool', nameHeader: 'taskId', target: 'tool' },
  { name: 'tasks/update', audit: 'mcp_request', item: 'tool', nameHeader: 'taskId', target: 'tool' },
  { name: 'tasks/cancel', audit: 'mcp_request', item: 'tool', nameHeader: 'taskId', target: 'tool' },
  { name: 'server/discover', audit: 'mcp_request', hint: 'own' },
  { name: 'ping', audit: 'mcp_ping' },
  { name: 'notifications/roots/list_changed', audit: 'mcp_roots_list_changed' },
];

const OTHER: McpMethod = { name: '', audit: 'mcp_request' };
const NOTIFICATION: McpMethod = { name: '', audit: 'mcp_notification' };
const BY_NAME: ReadonlyMap<string, McpMethod> = new Map(METHODS.map((each) => [each.name, each]));
/** Found by the last look-up: most requests have the same method. */
let last: McpMethod = OTHER;

/** Returns the row of a method, or that of all others; undefined stands for a response. */
export function methodOf(name: string | undefined): McpMethod {
  if (name === undefined) return OTHER;
  if (name === last.name) return last;
  const found = BY_NAME.get(name);
  if (found) last = found;
  return found ?? (name.startsWith('notifications/') ? NOTIFICATION : OTHER);
}
