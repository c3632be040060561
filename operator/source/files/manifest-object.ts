import type { Position, LocatedProblem } from './located.ts';
import { type FieldPath, parsePath } from '../../resolve/fields/field-path.ts';
import type { ObjectRef } from '../../resolve/scope.ts';
import type { ManifestDocument } from './document.ts';
import { isObject } from '../../../gateway/contract/json.ts';

export const DEFAULT_NAMESPACE = 'default';
const UNNAMED = '(unnamed)';

/** Object of a document before its validation. */
export interface ManifestObject extends ObjectRef {
  readonly apiVersion: string | undefined;
  readonly value: Readonly<Record<string, unknown>>;
  /** Returns the position of a path in this object, or of its longest existing prefix. */
  locate(path: string): Position;
  problem(reason: string, path: string, message: string): LocatedProblem;
}

export type ReadObject = ManifestObject | LocatedProblem;

export const isManifestObject = (read: ReadObject): read is ManifestObject => 'value' in read;

/** Returns the name of the group to which an object says that it belongs. */
export function groupNameOf({ value }: Pick<ManifestObject, 'value'>): string | undefined {
  const spec = isObject(value['spec']) ? value['spec'] : {};
  const name = isObject(spec['groupRef']) ? spec['groupRef']['name'] : undefined;
  return typeof name === 'string' ? name : undefined;
}

/** Returns the objects of a document. A List is replaced by its items. */
export function manifestObjects(document: ManifestDocument, at: FieldPath = [], value = document.value): ReadObject[] {
  if (!isObject(value)) {
    const kind = 'Document';
    const message = 'not an object: a resource has apiVersion, kind, metadata and spec';
    return [{ ...document.locate(at), kind, namespace: '', name: '-', path: '-', reason: 'NotAnObject', message }];
  }
  const { items } = value;
  if (value['apiVersion'] === 'v1' && value['kind'] === 'List' && Array.isArray(items)) {
    return items.flatMap((item: unknown, index) => manifestObjects(document, [...at, 'items', index], item));
  }
  return [manifestObject(document, at, value)];
}

function manifestObject(
  document: ManifestDocument,
  at: FieldPath,
  value: Readonly<Record<string, unknown>>,
): ManifestObject {
  const metadata = isObject(value['metadata']) ? value['metadata'] : {};
  const ref = {
    kind: textOr(value['kind'], '(no kind)'),
    namespace: textOr(metadata['namespace'], DEFAULT_NAMESPACE),
    name: textOr(metadata['name'], UNNAMED),
  };
  const locate = (path: string): Position => document.locate([...at, ...parsePath(path)]);
  return {
    ...ref,
    apiVersion: typeof value['apiVersion'] === 'string' ? value['apiVersion'] : undefined,
    value,
    locate,
    problem: (reason, path, message) => ({ ...locate(path), ...ref, path, reason, message }),
  };
}

const textOr = (value: unknown, otherwise: string): string =>
  typeof value === 'string' && value !== '' ? value : otherwise;
