import type { GatewayConfig } from '../../contract/gateway-config.ts';
import type { KnownTool } from '../../policy/explain/explanation.ts';

/** Tools of a running server. */
export interface ToolListing {
  readonly tools: readonly KnownTool[];
  /** Backends whose tools are not known, sorted: they do not answer, or they list tools for each user. */
  readonly unknown: readonly string[];
}

/** A virtual server or a workload whose policies can be explained. */
export interface ExplainedServer {
  readonly name: string;
  /** Undefined for a workload. */
  readonly namespace: string | undefined;
  readonly config: GatewayConfig;
  /** Waits until every backend has answered or has used up its time. */
  readonly listTools: () => Promise<ToolListing>;
}

export type ExplainedServers = () => readonly ExplainedServer[];
