/** Way in which a client is installed and run: its toolchain with pinned packages. */
export type Toolchain =
  | { readonly npm: readonly string[] }
  | { readonly python: readonly string[] }
  | { readonly go: string }
  | { readonly cargo: readonly string[] }
  /** Coordinates `group:artifact:version`; `boot` is the version of Spring Boot whose build they need. */
  | { readonly maven: readonly string[]; readonly boot?: string };

/** A client library or program. */
export interface ClientEntry {
  /** Name of its program in `programs/`. */
  readonly name: string;
  readonly title: string;
  /** Version of the client. */
  readonly version: string;
  readonly toolchain: Toolchain;
}

const SDK_1 = '@modelcontextprotocol/sdk@1.32.2';

export const CLIENTS: readonly ClientEntry[] = [
  { name: 'typescript-sdk-1', title: 'TypeScript SDK 1.x', version: '1.32.2', toolchain: { npm: [SDK_1] } },
  {
    name: 'typescript-sdk-2',
    title: 'TypeScript SDK 2.x',
    version: '2.4.0',
    toolchain: { npm: ['@modelcontextprotocol/client@2.4.0'] },
  },
  { name: 'mcp-remote', title: 'mcp-remote', version: '0.15.1', toolchain: { npm: ['mcp-remote@0.15.1', SDK_1] } },
  {
    name: 'inspector',
    title: 'MCP Inspector (CLI)',
    version: '2.12.0',
    toolchain: { npm: ['@modelcontextprotocol/inspector@2.12.0'] },
  },
  { name: 'mcporter', title: 'MCPorter', version: '0.12.3', toolchain: { npm: ['mcporter@0.12.3'] } },
  { name: 'ai-sdk', title: 'AI SDK', version: '2.0.99', toolchain: { npm: ['@ai-sdk/mcp@2.0.99'] } },
  {
    name: 'langchain-js',
    title: 'LangChain.js adapters',
    version: '1.1.4',
    toolchain: { npm: ['@langchain/mcp-adapters@1.1.4', '@langchain/core'] },
  },
  {
    name: 'openai-agents-js',
    title: 'OpenAI Agents SDK (TypeScript)',
    version: '0.20.0',
    toolchain: { npm: ['@openai/agents@0.20.0', 'zod@4.6.7'] },
  },
  { name: 'python-sdk-1', title: 'Python SDK 1.x', version: '1.30.0', toolchain: { python: ['mcp==1.30.0'] } },
  { name: 'python-sdk-2', title: 'Python SDK 2.x', version: '2.3.0', toolchain: { python: ['mcp==2.3.0'] } },
  { name: 'fastmcp', title: 'FastMCP', version: '4.1.6', toolchain: { python: ['fastmcp==4.1.6'] } },
  {
    name: 'langchain-python',
    title: 'LangChain adapters (Python)',
    version: '0.3.2',
    toolchain: { python: ['langchain-mcp-adapters==0.3.2'] },
  },
  { name: 'mcp-use-python', title: 'mcp-use (Python)', version: '1.7.1', toolchain: { python: ['mcp-use==1.7.1'] } },
  {
    name: 'openai-agents-python',
    title: 'OpenAI Agents SDK (Python)',
    version: '0.24.0',
    toolchain: { python: ['openai-agents==0.24.0'] },
  },
  {
    name: 'go-sdk',
    title: 'Go SDK',
    version: '1.8.0',
    toolchain: { go: 'github.com/modelcontextprotocol/go-sdk@v1.8.0' },
  },
  { name: 'mcp-go', title: 'mcp-go', version: '1.2.1', toolchain: { go: 'github.com/mark3labs/mcp-go@v1.2.1' } },
  {
    name: 'java-sdk',
    title: 'Java SDK',
    version: '2.1.0',
    toolchain: { maven: ['io.modelcontextprotocol.sdk:mcp:2.1.0'] },
  },
  {
    name: 'langchain4j',
    title: 'LangChain4j',
    version: '1.18.1-beta28',
    toolchain: { maven: ['dev.langchain4j:langchain4j-mcp:1.18.1-beta28'] },
  },
  {
    name: 'spring-ai',
    title: 'Spring AI',
    version: '2.0.1',
    toolchain: { maven: ['org.springframework.ai:spring-ai-starter-mcp-client:2.0.1'], boot: '4.0.7' },
  },
  {
    name: 'rmcp',
    title: 'rmcp (Rust)',
    version: '3.11.0',
    toolchain: {
      cargo: [
        'rmcp = { version = "=3.11.0", features = ["client", "transport-streamable-http-client-reqwest"] }',
        'serde_json = "1"',
        'tokio = { version = "1", features = ["rt", "macros"] }',
      ],
    },
  },
];
