import { isAbsolute } from 'node:path';
import type { Environment } from '../../environment.ts';
import { findOnPath, isExecutable } from '../path.ts';

const CLAUSE = String.raw`(?:[<>]=?|[=!~]=)\s*\d[\d.]*(?:\.\*)?`;
const CLAUSES = String.raw`${CLAUSE}(?:\s*,\s*${CLAUSE})*`;
/** Places where uv and pip name the Python that a package requires. */
const REQUIRED = [
  new RegExp(String.raw`(?:requires|satisfy|depends on) Python\s*(${CLAUSES})`, 'gu'),
  new RegExp(String.raw`Requires-Python\s*(${CLAUSES})`, 'gu'),
  new RegExp(String.raw`not in:?\s*'(${CLAUSES})'`, 'gu'),
  new RegExp(String.raw`'(${CLAUSES})' \(required by`, 'gu'),
];

type Version = readonly number[];

/** Minor versions of Python 3 that a machine may have, newest first. */
const MINORS = Array.from({ length: 20 }, (_, index) => 25 - index);

/**
 * Returns the Python that a package requires by the output of a failed installation; undefined when it failed for another reason. Of several
 * versions of the package the one that requires the newest Python decides.
 */
export function requiredPython(output: string): string | undefined {
  const found = REQUIRED.flatMap((pattern) => [...output.matchAll(pattern)].map(([, clauses = '']) => clauses));
  const sorted = found.map((text) => text.replaceAll(/\s/gu, '')).toSorted((a, b) => compare(lowest(b), lowest(a)));
  return sorted[0];
}

/** Returns the interpreters on PATH for a request such as `3.12`, `>=3.12,<3.14` or a path, newest first. */
export function findPythons(request: string, hostEnv: Environment): string[] {
  if (isAbsolute(request)) return isExecutable(request) ? [request] : [];
  const onPath = (name: string): string[] => [findOnPath(name, hostEnv) ?? []].flat();
  if (/^python[\d.]*$/u.test(request)) return onPath(request);
  const isVersion = /^\d+(?:\.\d+)*$/u.test(request);
  if (!isVersion && !new RegExp(`^${CLAUSES}$`, 'u').test(request)) return [];
  const clauses = isVersion ? `==${request.split('.').slice(0, 2).join('.')}` : request;
  return MINORS.filter((minor) => accepts(clauses, [3, minor])).flatMap((minor) => onPath(`python3.${String(minor)}`));
}

/** Returns true when some patch release of `3.MINOR` can satisfy all clauses. */
function accepts(clauses: string, version: Version): boolean {
  return clauses.split(',').every((clause) => {
    const [, operator = '', text = ''] = /^\s*([<>=!~]+)\s*([\d.]+)/u.exec(clause) ?? [];
    const limit = text.split('.').filter(Boolean).map(Number);
    const order = compare(version, limit.slice(0, 2));
    if (operator === '>=' || operator === '~=') return order >= 0 && (operator === '>=' || version[0] === limit[0]);
    if (operator === '>') return order > 0 || (order === 0 && limit.length > 2);
    if (operator === '<=') return order <= 0;
    if (operator === '<') return order < 0 || (order === 0 && limit.length > 2 && limit[2] !== 0);
    if (operator === '!=') return order !== 0 || limit.length > 2;
    return limit.length === 1 ? version[0] === limit[0] : order === 0;
  });
}

const lowest = (clauses: string): Version =>
  (/(?:>=?|[=~]=)\s*([\d.]+)/u.exec(clauses)?.[1] ?? '0').split('.').map(Number);

/** Compares versions; missing members count as 0. */
function compare(a: Version, b: Version): number {
  const length = Math.max(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
