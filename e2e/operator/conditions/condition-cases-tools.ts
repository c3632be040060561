import { group, type Manifest } from '../../harness/manifests.ts';
import { create, patch, remote, SERVER, spec, tools, VMCP, type ConditionCase } from './condition-case.ts';
import { httpServer, toolConfig } from '../resources.ts';

const withTools = (): Manifest[] =>
  tools({ config: { aggregation: { tools: [{ workload: 'remote', toolConfigRef: { name: 'rules' } }] } } });
/** Two tools with one name. */
const CLASH = { spec: { toolsOverride: { a: { name: 'b' }, b: { description: 'Keeps its name.' } } } };

export const OF_TOOL_CONFIGS: readonly ConditionCase[] = [
  {
    on: SERVER,
    type: 'ToolConfigRefValidated',
    given: [group(), toolConfig('rules'), httpServer('web', { toolConfigRef: { name: 'rules' } })],
    right: ['True', 'ToolConfigRefValid'],
    breaks: spec(SERVER, { toolConfigRef: { name: 'later' } }),
    wrong: ['False', 'ToolConfigRefNotFound'],
    names: 'spec.toolConfigRef.name',
    heals: create(toolConfig('later')),
  },
  {
    on: VMCP,
    type: 'ToolConfigRefValidated',
    given: [toolConfig('rules'), remote(), ...withTools()],
    right: ['True', 'ToolConfigRefValid'],
    breaks: patch('MCPToolConfig', 'rules', CLASH),
    wrong: ['False', 'ToolConfigRefNotValid'],
    names: 'spec.toolsOverride.a.name',
    heals: patch('MCPToolConfig', 'rules', { spec: { toolsOverride: null } }),
  },
  {
    on: ['MCPToolConfig', 'rules'],
    type: 'Valid',
    given: [toolConfig('rules')],
    right: ['True', 'ValidationSucceeded'],
    breaks: patch('MCPToolConfig', 'rules', CLASH),
    wrong: ['False', 'ValidationFailed'],
    names: 'spec.toolsOverride.a.name',
    heals: patch('MCPToolConfig', 'rules', { spec: { toolsOverride: null } }),
  },
];
