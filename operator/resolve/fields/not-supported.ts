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
}

const REASON = 'NotSupportedYet';

const member = (value: unknown, name: string): unknown => (value as Record<string, unknown> | null)?.[name];
const isOff = (value: unknown): boolean => member(value, 'enabled') !== true;
const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

const COMPOSITE = 'tool composition';
const OPTIMIZER = 'the optimizer';

/** Unsupported fields. Delete the row when the feature is built. */
export const UNBUILT_FIELDS: readonly UnbuiltField[] = [
  { kind: 'VirtualMCPServer', pattern: 'spec.embeddingServerRef', feature: OPTIMIZER },
  { kind: 'VirtualMCPServer', pattern: 'spec.config.codeMode', feature: 'code mode', isInert: isOff },
  { kind: 'VirtualMCPServer', pattern: 'spec.config.compositeToolRefs', feature: COMPOSITE },
  { kind: 'VirtualMCPServer', pattern: 'spec.config.compositeTools', feature: COMPOSITE },
  { kind: 'VirtualMCPServer', pattern: 'spec.config.optimizer', feature: OPTIMIZER },
];

/** Reports every unsupported field of an object. */
export function checkUnbuilt(object: Resource, report: Report): void {
  for (const { kind, pattern, feature, isInert } of UNBUILT_FIELDS) {
    if (kind !== object.kind) continue;
    for (const { path, value } of occurrences(object, pattern)) {
      if (!isEmptyList(value) && !isInert?.(value))
        report.problem(REASON, path, `${feature} is not built yet: remove this field`);
    }
  }
}

/** Returns the problem of a strategy that the registry lists but that is not built yet. */
export function unbuiltStrategy(type: string): Problem | undefined {
  if (STRATEGIES.some((strategy) => strategy.type === type && strategy.supported)) return undefined;
  return { reason: REASON, path: 'spec.type', message: `strategy ${type} is not built yet: use type unauthenticated` };
}
