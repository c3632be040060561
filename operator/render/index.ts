export { renderMCPServer } from './mcp-server.ts';
export { CLUSTER_PLATFORM, type Egress, type Rendered, type RenderOptions } from './options.ts';
export type { ResolvedConfig } from './owned.ts';
export { renderVirtualMCPServer } from './virtual-mcp-server.ts';
