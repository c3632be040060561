import { isObject } from '../../../gateway/contract/json.ts';
import { pathText, type Steps } from './object-path.ts';
import type { SteppedProblem } from './schema-problems.ts';

const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/u;
const DOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/u;
const MAX_NAME = 63;
const MAX_DOMAIN = 253;
const MAX_ANNOTATIONS_BYTES = 256 * 1024;

const KEY_WORDS =
  'must be a name of at most 63 letters, digits, "-", "_" and ".", between letters or digits; before it at most a domain and a slash';
const VALUE_WORDS = 'must be empty, or at most 63 letters, digits, "-", "_" and ".", between letters or digits';

/**
 * Lists labels and annotations of metadata that the API server rejects.
 * @see https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
 */
export function metadataFaults(metadata: unknown, at: Steps): SteppedProblem[] {
  if (!isObject(metadata)) return [];
  const { labels, annotations } = metadata;
  // Keys of annotations are compared in lower case.
  const isAnnotation = (key: string): boolean => isKey(key.toLowerCase());
  return [
    ...keyFaults(labels, isKey, [...at, 'labels']),
    ...valueFaults(labels, [...at, 'labels']),
    ...keyFaults(annotations, isAnnotation, [...at, 'annotations']),
    ...sizeFaults(annotations, [...at, 'annotations']),
  ];
}

const fault = (steps: Steps, message: string): SteppedProblem => ({
  steps,
  path: pathText(steps),
  reason: 'InvalidValue',
  message,
});

const keyFaults = (texts: unknown, isValid: (key: string) => boolean, at: Steps): SteppedProblem[] =>
  Object.keys(isObject(texts) ? texts : {})
    .filter((key) => !isValid(key))
    .map((key) => fault([...at, key], KEY_WORDS));

function isKey(key: string): boolean {
  const slash = key.indexOf('/');
  const domain = key.slice(0, Math.max(slash, 0));
  const name = key.slice(slash + 1);
  const isInDomain = slash < 0 || (domain.length <= MAX_DOMAIN && DOMAIN.test(domain));
  return isInDomain && name.length <= MAX_NAME && NAME.test(name);
}

const valueFaults = (labels: unknown, at: Steps): SteppedProblem[] =>
  Object.entries(isObject(labels) ? labels : {})
    .filter(([, value]) => typeof value === 'string' && value !== '' && (value.length > MAX_NAME || !NAME.test(value)))
    .map(([key]) => fault([...at, key], VALUE_WORDS));

function sizeFaults(annotations: unknown, at: Steps): SteppedProblem[] {
  if (!isObject(annotations)) return [];
  const size = Object.entries(annotations).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + (typeof value === 'string' ? Buffer.byteLength(value) : 0),
    0,
  );
  return size > MAX_ANNOTATIONS_BYTES ? [fault(at, 'must have at most 256 KiB in all')] : [];
}
