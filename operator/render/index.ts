export { renderMCPServer } from './mcp-server/mcp-server.ts';
export { CLUSTER_PLATFORM, type Rendered, type RenderOptions } from './options.ts';
export { renderVirtualMCPServer, type ResolvedConfig } from './virtual-mcp-server.ts';
