import type { McpClient, SkillFolders, UrlEntry } from './client.ts';

/** Entry with `type`, as most clients write it. */
const TYPED = { urlKey: 'url', transport: { key: 'type', sse: 'sse', http: 'http' } } as const satisfies UrlEntry;
/** Entry of clients that find out the transport themselves. */
const UNTYPED = { urlKey: 'url' } as const satisfies UrlEntry;

const JSON_SERVERS = { format: 'jsonc', servers: 'mcpServers' } as const;
const VS_CODE_SERVERS = { format: 'jsonc', servers: 'servers' } as const;

const skillsIn = (user: string, project = user): SkillFolders => ({ user, project });
/** Folders that several clients share. */
const AGENTS_SKILLS = skillsIn('.agents/skills');
const COPILOT_SKILLS = skillsIn('.copilot/skills', '.github/skills');

/** Clients that vmcp can configure. To add one, add an entry here and a row in docs/local-mode.md. */
export const CLIENTS: readonly McpClient[] = [
  {
    ...JSON_SERVERS,
    type: 'roo-code',
    name: 'Roo Code',
    file: '{app}/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json',
    projectFile: '.roo/mcp.json',
    entry: { urlKey: 'url', transport: { key: 'type', sse: 'sse', http: 'streamable-http' } },
    skills: skillsIn('.roo/skills'),
  },
  {
    ...JSON_SERVERS,
    type: 'cline',
    name: 'Cline',
    file: '{app}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json',
    entry: { urlKey: 'url', transport: { key: 'type', sse: 'sse', http: 'streamableHttp' } },
    skills: skillsIn('.cline/skills'),
  },
  {
    ...VS_CODE_SERVERS,
    type: 'vscode-insider',
    name: 'VS Code Insiders',
    file: '{app}/Code - Insiders/User/mcp.json',
    projectFile: '.vscode/mcp.json',
    entry: TYPED,
    link: { url: 'vscode-insiders:mcp/install', query: 'json' },
    skills: COPILOT_SKILLS,
  },
  {
    ...VS_CODE_SERVERS,
    type: 'vscode',
    name: 'VS Code',
    file: '{app}/Code/User/mcp.json',
    projectFile: '.vscode/mcp.json',
    entry: TYPED,
    link: { url: 'vscode:mcp/install', query: 'json' },
    skills: COPILOT_SKILLS,
  },
  {
    ...JSON_SERVERS,
    type: 'cursor',
    name: 'Cursor',
    file: '{home}/.cursor/mcp.json',
    projectFile: '.cursor/mcp.json',
    entry: TYPED,
    link: { url: 'cursor://anysphere.cursor-deeplink/mcp/install', query: 'base64' },
    skills: skillsIn('.cursor/skills'),
  },
  {
    ...JSON_SERVERS,
    type: 'claude-code',
    name: 'Claude Code',
    file: '{home}/.claude.json',
    projectFile: '.mcp.json',
    entry: TYPED,
    addCommand: 'claude mcp add --scope user --transport {transport} {name} {url}',
    skills: skillsIn('.claude/skills'),
  },
  {
    ...JSON_SERVERS,
    type: 'windsurf',
    name: 'Windsurf',
    file: '{home}/.codeium/windsurf/mcp_config.json',
    entry: { ...TYPED, urlKey: 'serverUrl' },
    skills: skillsIn('.codeium/windsurf/skills', '.windsurf/skills'),
  },
  {
    ...JSON_SERVERS,
    type: 'windsurf-jetbrains',
    name: 'Windsurf for JetBrains',
    file: '{home}/.codeium/mcp_config.json',
    entry: { ...TYPED, urlKey: 'serverUrl' },
  },
  {
    type: 'amp-cli',
    name: 'Amp',
    file: '{xdg}/amp/settings.json',
    projectFile: '.amp/settings.json',
    format: 'jsonc',
    servers: 'amp.mcpServers', // one key with a dot
    entry: TYPED,
    skills: AGENTS_SKILLS,
  },
  {
    ...JSON_SERVERS,
    type: 'lm-studio',
    name: 'LM Studio',
    file: '{home}/.lmstudio/mcp.json',
    entry: TYPED,
    link: { url: 'lmstudio://add_mcp', query: 'base64' },
  },
  {
    type: 'goose',
    name: 'Goose',
    file: '{home}/.config/goose/config.yaml',
    windowsFile: '{app}/Block/goose/config/config.yaml',
    format: 'yaml',
    servers: 'extensions',
    entry: {
      urlKey: 'uri',
      transport: { key: 'type', sse: 'sse', http: 'streamable_http' },
      hasName: true,
      extra: { enabled: true, timeout: 60, description: '' },
    },
    skills: AGENTS_SKILLS,
  },
  {
    ...JSON_SERVERS,
    type: 'trae',
    name: 'Trae',
    file: '{app}/Trae/User/mcp.json',
    entry: UNTYPED,
    skills: AGENTS_SKILLS,
  },
  {
    type: 'continue',
    name: 'Continue',
    file: '{home}/.continue/config.yaml',
    format: 'yaml',
    servers: 'mcpServers',
    isList: true,
    required: { name: 'Local assistant', version: '1.0.0', schema: 'v1' },
    entry: { urlKey: 'url', transport: { key: 'type', sse: 'sse', http: 'streamable-http' } },
  },
  {
    type: 'opencode',
    name: 'opencode',
    file: '{home}/.config/opencode/opencode.json',
    projectFile: 'opencode.json',
    format: 'jsonc',
    servers: 'mcp',
    entry: { urlKey: 'url', transport: { key: 'type', sse: 'remote', http: 'remote' } },
    skills: skillsIn('.config/opencode/skills', '.opencode/skills'),
  },
  {
    ...JSON_SERVERS,
    type: 'kiro',
    name: 'Kiro',
    file: '{home}/.kiro/settings/mcp.json',
    projectFile: '.kiro/settings/mcp.json',
    entry: UNTYPED,
    skills: skillsIn('.kiro/skills'),
  },
  {
    ...JSON_SERVERS,
    type: 'antigravity',
    name: 'Antigravity',
    file: '{home}/.gemini/antigravity/mcp_config.json',
    entry: { urlKey: 'serverUrl' },
    skills: AGENTS_SKILLS,
  },
  {
    type: 'zed',
    name: 'Zed',
    file: '{xdg}/zed/settings.json',
    projectFile: '.zed/settings.json',
    format: 'jsonc',
    servers: 'context_servers',
    entry: UNTYPED,
  },
  {
    ...JSON_SERVERS,
    type: 'gemini-cli',
    name: 'Gemini CLI',
    file: '{home}/.gemini/settings.json',
    projectFile: '.gemini/settings.json',
    entry: { urlKey: 'httpUrl', sseUrlKey: 'url' },
    nextStep: 'Gemini CLI shows it as Disabled in each folder that you do not trust: start gemini there, and trust it',
    skills: AGENTS_SKILLS,
  },
  {
    ...VS_CODE_SERVERS,
    type: 'vscode-server',
    name: 'VS Code Server',
    file: '{home}/.vscode-server/data/User/mcp.json',
    projectFile: '.vscode/mcp.json',
    entry: UNTYPED,
  },
  {
    type: 'mistral-vibe',
    name: 'Mistral Vibe',
    file: '{home}/.vibe/config.toml',
    projectFile: '.vibe/config.toml',
    format: 'toml',
    servers: 'mcp_servers',
    isList: true,
    entry: { urlKey: 'url', transport: { key: 'transport', sse: 'http', http: 'streamable-http' } },
    skills: skillsIn('.vibe/skills'),
  },
  {
    type: 'codex',
    name: 'Codex',
    file: '{home}/.codex/config.toml',
    projectFile: '.codex/config.toml',
    format: 'toml',
    servers: 'mcp_servers',
    entry: UNTYPED,
    skills: AGENTS_SKILLS,
  },
  {
    ...JSON_SERVERS,
    type: 'kimi-cli',
    name: 'Kimi Code',
    file: '{home}/.kimi-code/mcp.json',
    olderFile: '{home}/.kimi/mcp.json', // of Kimi CLI, which became Kimi Code
    projectFile: '.kimi-code/mcp.json',
    entry: UNTYPED,
    skills: skillsIn('.kimi/skills'),
  },
  {
    ...JSON_SERVERS,
    type: 'factory',
    name: 'Factory',
    file: '{home}/.factory/mcp.json',
    projectFile: '.factory/mcp.json',
    entry: TYPED,
    skills: skillsIn('.factory/skills'),
  },
  {
    ...JSON_SERVERS,
    type: 'copilot-cli',
    name: 'Copilot CLI',
    file: '{home}/.copilot/mcp-config.json',
    entry: { ...TYPED, extra: { tools: ['*'] } },
  },
  {
    ...JSON_SERVERS,
    type: 'qoder',
    name: 'Qoder',
    file: '{home}/.qoder/mcp.json',
    windowsFile: '{app}/Qoder/SharedClientCache/mcp.json',
    entry: TYPED,
    skills: skillsIn('.qoder/skills'),
  },
  {
    ...JSON_SERVERS,
    type: 'qoder-cli',
    name: 'Qoder CLI',
    file: '{home}/.qoder/settings.json',
    projectFile: '.qoder/settings.json',
    entry: TYPED,
    skills: skillsIn('.qoder/skills'),
  },
  {
    ...JSON_SERVERS,
    type: 'cline-cli',
    name: 'Cline CLI',
    file: '{home}/.cline/data/settings/cline_mcp_settings.json',
    entry: { urlKey: 'url', transport: { key: 'type', sse: 'sse', http: 'streamableHttp' } },
    skills: skillsIn('.cline/skills'),
  },
  {
    ...JSON_SERVERS,
    type: 'qwen-code',
    name: 'Qwen Code',
    file: '{home}/.qwen/settings.json',
    projectFile: '.qwen/settings.json',
    entry: { urlKey: 'httpUrl', sseUrlKey: 'url' },
    skills: skillsIn('.qwen/skills'),
  },
  {
    ...JSON_SERVERS,
    type: 'claude-desktop',
    name: 'Claude Desktop',
    file: '{app}/Claude/claude_desktop_config.json',
    // This file starts stdio servers only: the program mcp-remote forwards between stdio and the URL, and logs in.
    entry: 'mcp-remote',
  },
];

/** Finds a client by its type or name. Ignores case, spaces and hyphens: `vs-code` is `vscode`. */
export function findClient(text: string): McpClient | undefined {
  const squashed = squash(text);
  return CLIENTS.find(({ type, name }) => squash(type) === squashed || squash(name) === squashed);
}

const squash = (text: string): string => text.toLowerCase().replaceAll(/[\s_-]/gu, '');
