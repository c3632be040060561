import { Type, type Static } from 'typebox';
import { flag, text, textMap, texts } from '../../contract/optional.ts';
import { WORKLOAD_STATES, type Workload, type WorkloadState } from '../workloads.ts';
import { TRANSPORTS } from './settings.ts';

const required = (description: string) => Type.String({ description });

/** One line of the list of workloads. */
export const WorkloadSummary = Type.Object(
  {
    name: required('Name of the workload.'),
    package: required('Image or package; `remote` for a remote server.'),
    url: required('MCP endpoint for clients; empty before it has a port.'),
    port: Type.Integer({ description: 'Port on which clients reach it; 0 before one is chosen.' }),
    transport_type: Type.Enum([...TRANSPORTS], { description: 'Transport of the server.' }),
    proxy_mode: text('Transport for clients: `sse` or `streamable-http`.'),
    status: Type.Enum([...WORKLOAD_STATES], { title: 'WorkloadState', description: 'State.' }),
    status_context: text('Reason for the state, or progress of a start.'),
    created_at: required('Time of its creation, RFC 3339.'),
    started_at: required(
      'Time of its last start; `0001-01-01T00:00:00Z` for a remote server, or before the first start.',
    ),
    labels: textMap('Labels, without those of vmcp.'),
    group: text('Group of the workload.'),
    tools: texts('Advertised tools, if they are limited.'),
    remote: flag('True for a remote server.'),
  },
  { title: 'Workload', description: 'Workload and its state.' },
);
export type WorkloadSummary = Static<typeof WorkloadSummary>;

/** Time of events that have not happened. */
const NEVER = '0001-01-01T00:00:00Z';
const DEFAULT_TRANSPORT = 'stdio';

/** Labels of vmcp, which repeat other fields. */
const STANDARD_LABELS = new Set([
  'vmcp',
  'vmcp-name',
  'vmcp-basename',
  'vmcp-transport',
  'vmcp-port',
  'vmcp-network-isolation',
]);

/** States of the workloads that the list has by default. */
const LISTED_STATES = new Set<WorkloadState>(['running', 'auth_retrying']);

export interface ListFilter {
  /** Includes workloads in every state. */
  readonly all: boolean;
  readonly group?: string;
}

/** Returns the summaries of the workloads that fit the filter, sorted by name. */
export const listSummaries = (workloads: readonly Workload[], { all, group }: ListFilter): WorkloadSummary[] =>
  workloads
    .filter(
      ({ status, isFromFile = false }) => all || LISTED_STATES.has(status) || (isFromFile && status === 'starting'),
    )
    .filter(({ config }) => group === undefined || groupName(config) === group)
    .map(summaryOf)
    .toSorted(({ name: one }, { name: two }) => (one < two ? -1 : 1));

/** Returns the group of a workload. */
export const groupName = ({ group }: Workload['config']): string => group ?? 'default';

function summaryOf({
  config,
  status,
  status_context: context,
  port,
  url,
  created_at,
  started_at,
}: Workload): WorkloadSummary {
  const { name = '', transport = DEFAULT_TRANSPORT, proxy_mode: mode, tools_filter: tools = [] } = config;
  const isRemote = (config.remote_url ?? '') !== '';
  const labels = Object.entries(config.container_labels ?? {}).filter(([label]) => !STANDARD_LABELS.has(label));
  return {
    name,
    package: isRemote ? 'remote' : (config.image ?? ''),
    url,
    port,
    transport_type: transport as WorkloadSummary['transport_type'],
    ...(mode && { proxy_mode: mode }),
    status,
    ...(context && { status_context: context }),
    created_at,
    started_at: isRemote ? NEVER : started_at,
    ...(labels.length > 0 && { labels: Object.fromEntries(labels) }),
    ...(config.group && { group: config.group }),
    ...(tools.length > 0 && { tools: [...tools] }),
    ...(isRemote && { remote: true }),
  };
}
