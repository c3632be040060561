import type { JsonObject } from '../../../gateway/contract/json.ts';
import { quoted } from './quoted.ts';

/** Members for the working folder of a command, by client. */
const FOLDER_MEMBERS = ['cwd', 'working_directory', 'workingDirectory', 'workingDir'] as const;

/** Returns the working folder of a command, as it is written. */
export const folderIn = (value: JsonObject): unknown =>
  FOLDER_MEMBERS.map((name) => value[name]).find((folder) => folder !== undefined);

/** Members that choose tools, by client. */
const TOOL_FILTERS = [
  'enabled_tools',
  'disabled_tools',
  'enabledTools',
  'includeTools',
  'excludeTools',
  'disabledTools',
  'allowedTools',
  'allowed_tools',
  'tools',
];

/** Members that are read, and those about the client itself: its display, its questions, its timeouts, its start. */
const KNOWN: ReadonlySet<string> = new Set([
  ...[
    'command',
    'args',
    'env',
    'environment',
    'env_vars',
    'url',
    'serverUrl',
    'httpUrl',
    'type',
    'transport',
    'transportType',
  ],
  ...['headers', 'http_headers', 'env_http_headers', 'bearer_token_env_var', 'requestInit'],
  ...['disabled', 'enabled', 'autoApprove', 'alwaysAllow', 'trust', 'timeout', 'initTimeout'],
  ...['startup_timeout_sec', 'startup_timeout_ms', 'tool_timeout_sec', 'start_on_launch', 'autoStart', 'isActive'],
  ...['name', 'title', 'description', 'displayName', 'icon', 'iconPath', 'logo', 'note', 'comment', '$schema'],
  ...['source', 'settings', 'gallery', 'version', 'id', 'dev', 'instructions', 'category', 'tags', 'homepage'],
]);

export const toolFilterWarning = (name: string): string =>
  `its ${name} is left out: choose its tools with config.aggregation.tools of the VirtualMCPServer`;

const COMMENT = /^(?:_|\/\/|#)/u;

/** Lists the members of a server that have no effect in vmcp, with what to do instead. `hasFolder` is true where its working folder has one. */
export function ignoredMembers(value: JsonObject, hasFolder: boolean): string[] {
  return Object.entries(value).flatMap(([name, member]) => {
    if (member === undefined || member === null || KNOWN.has(name) || COMMENT.test(name)) return [];
    if (TOOL_FILTERS.includes(name)) {
      const keepsAll = name === 'tools' && Array.isArray(member) && member.includes('*');
      return keepsAll ? [] : [toolFilterWarning(name)];
    }
    if (FOLDER_MEMBERS.some((folder) => folder === name))
      return hasFolder ? [] : [`its ${name} is left out: write absolute paths into its args`];
    if (name === 'envFile') return ['its envFile is not read: add its variables to the Secret of the server'];
    return [`its ${quoted(name)} is left out: vmcp does not know it`];
  });
}
