/** An MCP server of npm or PyPI. */
export interface ServerEntry {
  readonly name: string;
  /**
   * Command of its README, as clients have it in their files, with a pinned version. `{folder}` is a new folder with the
   * file `note.txt`.
   */
  readonly command: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Reason that `/status` must give where the server cannot run: what its README demands. */
  readonly demands?: RegExp;
  /** Reason that its README does not give: a fault of its package, or a host or library that this machine lacks. */
  readonly fault?: RegExp;
}

const official = (name: string, version: string, args = ''): string =>
  `npx -y @modelcontextprotocol/server-${name}@${version}${args}`;

/** Servers that demand `mcp>=1` without an upper bound break with the Python SDK 2: findings/mcp-sdk-without-upper-bound.sh. */
const NEEDS_OLDER_SDK = /'Server' object has no attribute/u;

/** Popular servers by their downloads, and some that are known for one difficulty each. */
export const SERVERS: readonly ServerEntry[] = [
  { name: 'everything', command: official('everything', '2026.8.31') },
  { name: 'filesystem', command: official('filesystem', '2026.8.31', ' {folder}') },
  { name: 'memory', command: official('memory', '2026.8.31') },
  { name: 'sequential-thinking', command: official('sequential-thinking', '2026.8.31') },
  { name: 'time', command: 'uvx mcp-server-time==2026.10.19' },
  { name: 'fetch', command: 'uvx mcp-server-fetch==2026.10.24' },
  { name: 'git', command: 'uvx mcp-server-git==2026.10.19' },
  { name: 'pdf', command: official('pdf', '2.0.4', ' --stdio') },
  { name: 'map', command: official('map', '2.0.3', ' --stdio') },
  {
    name: 'github',
    command: official('github', '2025.4.8'),
    env: { GITHUB_PERSONAL_ACCESS_TOKEN: 'placeholder' },
  },
  { name: 'gitlab', command: official('gitlab', '2025.4.25'), demands: /GITLAB_PERSONAL_ACCESS_TOKEN/u },
  { name: 'brave-search', command: official('brave-search', '0.6.2'), demands: /BRAVE_API_KEY/u },
  { name: 'google-maps', command: official('google-maps', '0.6.2'), demands: /GOOGLE_MAPS_API_KEY/u },
  { name: 'slack', command: official('slack', '2025.4.25'), demands: /SLACK_BOT_TOKEN/u },
  { name: 'postgres', command: official('postgres', '0.6.2'), demands: /database url/iu },
  { name: 'everart', command: official('everart', '0.6.2'), demands: /EVERART_API_KEY/u },
  { name: 'playwright', command: 'npx -y @playwright/mcp@0.0.83' },
  { name: 'chrome-devtools', command: 'npx -y chrome-devtools-mcp@1.11.0' },
  { name: 'context7', command: 'npx -y @upstash/context7-mcp@4.1.1' },
  // Its dependency keytar is compiled where it has no binary, and needs libsecret.
  { name: 'azure-devops', command: 'npx -y @azure-devops/mcp@2.10.0 contoso', fault: /libsecret/u },
  {
    name: 'supabase',
    command: 'npx -y @supabase/mcp-server-supabase@0.13.0',
    demands: /SUPABASE_ACCESS_TOKEN|access token/iu,
  },
  { name: 'notion', command: 'npx -y @notionhq/notion-mcp-server@2.5.2', env: { NOTION_TOKEN: 'placeholder' } },
  { name: 'mongodb', command: 'npx -y mongodb-mcp-server@3.0.4 --readOnly' },
  { name: 'stripe', command: 'npx -y @stripe/mcp@0.3.3', demands: /STRIPE_SECRET_KEY|api[- ]key/iu },
  { name: 'tavily', command: 'npx -y tavily-mcp@0.2.22', demands: /TAVILY_API_KEY/u },
  { name: 'firecrawl', command: 'npx -y firecrawl-mcp@3.26.0', demands: /FIRECRAWL_API_KEY/u },
  { name: 'sentry', command: 'npx -y @sentry/mcp-server@0.39.0', demands: /access[- ]token/iu },
  { name: 'figma', command: 'npx -y figma-developer-mcp@0.13.2 --stdio', demands: /FIGMA_API_KEY/u },
  { name: 'hubspot', command: 'npx -y @hubspot/mcp-server@0.4.0', demands: /PRIVATE_APP_ACCESS_TOKEN/u },
  { name: 'exa', command: 'npx -y exa-mcp-server@3.4.1', env: { EXA_API_KEY: 'placeholder' } },
  { name: 'brave', command: 'npx -y @brave/brave-search-mcp-server@2.1.4', demands: /brave-api-key|BRAVE_API_KEY/u },
  { name: 'kubernetes-npm', command: 'npx -y mcp-server-kubernetes@4.1.7', demands: /kubeconfig|cluster/iu },
  { name: 'antv-chart', command: 'npx -y @antv/mcp-server-chart@0.9.10' },
  { name: 'eslint', command: 'npx -y @eslint/mcp@0.3.13' },
  { name: 'mastra-docs', command: 'npx -y @mastra/mcp-docs-server@1.2.27' },
  { name: 'svelte', command: 'npx -y @sveltejs/mcp@0.1.26', fault: /svelte\.dev/u },
  { name: 'airtable', command: 'npx -y airtable-mcp-server@1.14.0', demands: /AIRTABLE_API_KEY|api key/iu },
  { name: 'airbnb', command: 'npx -y @openbnb/mcp-server-airbnb@0.3.0' },
  { name: 'hello-world', command: 'npx -y mcp-hello-world@1.1.2' },
  { name: 'excel-npm', command: 'npx -y @negokaz/excel-mcp-server@0.12.0' },
  { name: 'pdf-reader', command: 'npx -y @sylphx/pdf-reader-mcp@2.4.0' },
  { name: 'searxng', command: 'npx -y mcp-searxng@2.4.0', demands: /SEARXNG_URL/u },
  { name: 'obsidian', command: 'npx -y mcp-obsidian@1.0.0 {folder}' },
  { name: 'git-cyanheads', command: 'npx -y @cyanheads/git-mcp-server@2.15.3' },
  { name: 'kubernetes-go', command: 'npx -y kubernetes-mcp-server@0.0.67', demands: /kubeconfig|cluster/iu },
  { name: 'shopify-dev', command: 'npx -y @shopify/dev-mcp@1.16.0' },
  { name: 'mapbox', command: 'npx -y @mapbox/mcp-server@0.14.0', demands: /MAPBOX_ACCESS_TOKEN/u },
  { name: 'slack-go', command: 'npx -y slack-mcp-server@1.3.0', demands: /SLACK_MCP_XOXC_TOKEN|SLACK_MCP_XOXP_TOKEN/u },
  { name: 'code-runner', command: 'npx -y mcp-server-code-runner@0.1.8' },
  { name: 'commands', command: 'npx -y mcp-server-commands@0.5.0' },
  { name: 'desktop-commander', command: 'npx -y @wonderwhy-er/desktop-commander@0.2.52' },
  { name: 'aws-documentation', command: 'uvx awslabs.aws-documentation-mcp-server==1.2.3' },
  { name: 'duckduckgo', command: 'uvx duckduckgo-mcp-server==0.7.0' },
  { name: 'arxiv', command: 'uvx arxiv-mcp-server==0.8.2' },
  { name: 'excel', command: 'uvx excel-mcp-server==2.2.2 stdio' },
  { name: 'markitdown', command: 'uvx markitdown-mcp==0.0.1a8' },
  { name: 'duckdb', command: 'uvx mcp-server-duckdb==1.1.0 --db-path {folder}/data.duckdb', fault: NEEDS_OLDER_SDK },
  { name: 'sqlite', command: 'uvx mcp-server-sqlite==2025.4.25 --db-path {folder}/data.db', fault: NEEDS_OLDER_SDK },
  { name: 'calculator', command: 'uvx mcp-server-calculator==0.2.1' },
  { name: 'wikipedia', command: 'uvx wikipedia-mcp==2.0.1' },
  { name: 'atlassian', command: 'uvx mcp-atlassian==0.23.1' },
  { name: 'word', command: 'uvx --from office-word-mcp-server==1.1.11 word_mcp_server' },
  // This and two others need Python 3.12, and say so where there is none and uv cannot download it. It also depends on
  // one version of pglast, which PyPI did not have on the day of the run.
  {
    name: 'postgres-pro',
    command: 'uvx postgres-mcp==0.3.0',
    demands: /no Python >=3\.12/u,
    fault: /there is no version of pglast==7\.2\.0/u,
  },
  { name: 'basic-memory', command: 'uvx basic-memory==0.24.1 mcp', demands: /no Python >=3\.12/u },
  { name: 'kubectl', command: 'uvx --from kubectl-mcp-server==2.0.0 kubectl-mcp', demands: /kubeconfig|cluster/iu },
  { name: 'obsidian-rest', command: 'uvx mcp-obsidian==0.2.3', demands: /OBSIDIAN_API_KEY/u },
  // The library of Docker names the request that has failed without its daemon.
  {
    name: 'docker',
    command: 'uvx mcp-server-docker==0.3.0',
    demands: /no Python >=3\.12|DockerException: Error while fetching server API version/u,
  },
  {
    name: 'commands-python',
    command: 'uvx cli-mcp-server==0.2.5',
    env: { ALLOWED_DIR: '{folder}' },
    fault: NEEDS_OLDER_SDK,
  },
];
