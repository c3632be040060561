import { STRATEGIES } from '../../../gateway/outgoing/index.ts';
import type { Problem } from '../../../gateway/contract/problem.ts';
import { occurrences, type FieldPattern } from './field-pattern.ts';
import type { Report } from '../scope.ts';
import type { Resource } from '../snapshot.ts';

/** Field of the schema that the gateway does not support yet. A server that sets it does not start. */
export interface UnbuiltField {
  readonly kind: Resource['kind'];
  readonly pattern: FieldPattern;
  /** Name of the missing feature. */
  readonly feature: string;
  /** Returns true for a value that needs no support, such as the default or an explicit "off". */
  readonly isInert?: (value: unknown) => boolean;
  /** Advice for the user; "remove this field" when absent. */
  readonly instead?: string;
}

const REASON = 'NotSupportedYet';

const member = (value: unknown, name: string): unknown => (value as Record<string, unknown> | null)?.[name];
const isOff = (value: unknown): boolean => member(value, 'enabled') !== true;
const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

const COMPOSITE = 'tool composition';
const OPTIMIZER = 'the optimizer';

/** Unsupported fields of an authorization server. */
const authServerRows = (path: FieldPattern): Row[] => [
  [
    `${path}.upstreamProviders[].oauth2Config.dcrConfig`,
    'dynamic client registration at providers',
    undefined,
    'register one there and set clientId',
  ],
];

/** Unsupported fields. Delete the row when the feature is built. */
export const UNBUILT_FIELDS: readonly UnbuiltField[] = [
  ...ofKind('MCPExternalAuthConfig', authServerRows('spec.embeddedAuthServer')),
  ...ofKind('VirtualMCPServer', [
    ...authServerRows('spec.authServerConfig'),
    ['spec.embeddingServerRef', OPTIMIZER],
    ['spec.config.codeMode', 'code mode', isOff],
    ['spec.config.compositeToolRefs', COMPOSITE],
    ['spec.config.compositeTools', COMPOSITE],
    ['spec.config.optimizer', OPTIMIZER],
  ]),
];

type Row = readonly [
  pattern: FieldPattern,
  feature: string,
  isInert?: UnbuiltField['isInert'],
  instead?: UnbuiltField['instead'],
];

function ofKind(kind: UnbuiltField['kind'], rows: readonly Row[]): UnbuiltField[] {
  return rows.map(([pattern, feature, isInert, instead]) => ({
    kind,
    pattern,
    feature,
    ...(isInert && { isInert }),
    ...(instead !== undefined && { instead }),
  }));
}

/** Reports every unsupported field of an object. */
export function checkUnbuilt(object: Resource, report: Report): void {
  for (const { kind, pattern, feature, isInert, instead = 'remove this field' } of UNBUILT_FIELDS) {
    if (kind !== object.kind) continue;
    for (const { path, value } of occurrences(object, pattern)) {
      if (!isEmptyList(value) && !isInert?.(value))
        report.problem(REASON, path, `${feature} is not built yet: ${instead}`);
    }
  }
}

/** Returns the problem of a strategy that the registry lists but that is not built yet. */
export function unbuiltStrategy(type: string): Problem | undefined {
  if (STRATEGIES.some((strategy) => strategy.type === type && strategy.supported)) return undefined;
  return { reason: REASON, path: 'spec.type', message: `strategy ${type} is not built yet: use type unauthenticated` };
}
