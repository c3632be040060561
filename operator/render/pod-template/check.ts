import type { Steps } from '../../../crds/kinds/schema/object-path.ts';
import { closest } from '../../../crds/kinds/schema/schema-problems.ts';
import { POD_TEMPLATE_TYPES, type FieldType, type ObjectType } from './types.ts';
import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';

/** A fault of a patch. `steps` start at the patch. */
export interface TemplateFault {
  readonly steps: Steps;
  readonly message: string;
}

/** Directives of a strategic merge patch, for an object or for the list whose name follows the slash. */
export const PATCH = '$patch';
export const RETAIN_KEYS = '$retainKeys';
export const DELETE_PRIMITIVES = '$deleteFromPrimitiveList/';
export const ELEMENT_ORDER = '$setElementOrder/';

const STRATEGIES: readonly unknown[] = ['delete', 'replace', 'merge'];

/** Lists members that are not part of a pod template, and directives without effect. */
export function patchFaults(patch: unknown, steps: Steps = []): TemplateFault[] {
  return valueFaults(patch, { name: 'PodTemplateSpec', list: false, keys: [] }, steps);
}

function valueFaults(value: unknown, type: FieldType, steps: Steps): TemplateFault[] {
  if (type.list) return listFaults(value, type, steps);
  const object = POD_TEMPLATE_TYPES.get(type.name);
  if (object) return objectFaults(value, type.name, object, steps);
  if (type.name === 'map' || type.name === 'quantities') return mapFaults(value, type.name, steps);
  const wanted = scalarFault(value, type.name);
  return wanted === undefined ? [] : [{ steps, message: wanted }];
}

function objectFaults(value: unknown, name: string, fields: ObjectType, steps: Steps): TemplateFault[] {
  if (!isObject(value)) return [{ steps, message: 'must be an object' }];
  return Object.entries(value).flatMap(([member, content]): TemplateFault[] => {
    const here = [...steps, member];
    if (member.startsWith('$')) return directiveFaults(member, content, fields, here);
    const type = fields.get(member);
    if (!type) return [{ steps: here, message: `${name} has no such field: ${nameAdvice(member, fields)}` }];
    // Null removes the field.
    if (content === null) return [];
    const faults = valueFaults(content, type, here);
    return faults.length > 0 ? faults : choiceFaults(content, `${name}.${member}`, here);
  });
}

function nameAdvice(member: string, fields: ObjectType): string {
  const near = closest(member, [...fields.keys()]);
  return near === undefined ? 'correct the name or remove it' : `did you mean ${near}?`;
}

/** Rejects a value that Kubernetes does not know for a field. An empty value means its default. */
function choiceFaults(value: unknown, field: string, steps: Steps): TemplateFault[] {
  const choices = POD_TEMPLATE_CHOICES.get(field);
  if (!choices || typeof value !== 'string' || value === '' || choices.includes(value)) return [];
  return [{ steps, message: `must be one of ${choices.join(', ')}` }];
}

function directiveFaults(member: string, content: unknown, fields: ObjectType, steps: Steps): TemplateFault[] {
  if (member === PATCH)
    return STRATEGIES.includes(content) ? [] : [{ steps, message: 'must be delete, replace or merge' }];
  if (!Array.isArray(content)) return [{ steps, message: 'must be a list' }];
  if (member === RETAIN_KEYS) {
    return content.flatMap((key, index) =>
      typeof key === 'string' && fields.has(key) ? [] : [{ steps: [...steps, index], message: 'must name a field' }],
    );
  }
  const prefix = [DELETE_PRIMITIVES, ELEMENT_ORDER].find((each) => member.startsWith(each));
  const list = prefix === undefined ? undefined : fields.get(member.slice(prefix.length));
  if (list?.list !== true) return [{ steps, message: 'unknown directive or list: remove it' }];
  if (prefix === DELETE_PRIMITIVES && POD_TEMPLATE_TYPES.has(list.name)) {
    return [{ steps, message: 'the items of this list are objects: write {$patch: delete} into the item instead' }];
  }
  return [];
}

function listFaults(value: unknown, type: FieldType, steps: Steps): TemplateFault[] {
  if (!Array.isArray(value)) return [{ steps, message: 'must be a list' }];
  const items = value.map((item: unknown, index) => ({ item, steps: [...steps, index] }));
  const faults = items.flatMap(({ item, steps: here }) =>
    isDirective(item) ? [] : valueFaults(item, { ...type, list: false }, here),
  );
  return type.keys.length > 0 ? [...faults, ...keyFaults(items, type.keys)] : faults;
}

/** Returns true for the item `$patch: replace`, with which the other items replace the whole list. */
export const isDirective = (item: unknown): item is JsonObject =>
  isObject(item) && Object.keys(item).length === 1 && item[PATCH] === 'replace';

const KEY_DEFAULTS: Readonly<Record<string, string>> = { protocol: 'TCP' };

/** Returns the identity of an item in a merged list. */
export const identity = (item: unknown, keys: readonly string[]): string =>
  JSON.stringify(isObject(item) ? keys.map((key) => item[key] ?? KEY_DEFAULTS[key]) : item);

function keyFaults(
  items: readonly { readonly item: unknown; readonly steps: Steps }[],
  keys: readonly string[],
): TemplateFault[] {
  const seen = new Set<string>();
  return items.flatMap(({ item, steps }): TemplateFault[] => {
    if (isDirective(item) || !isObject(item)) return [];
    const missing = keys.find((key) => item[key] === undefined && KEY_DEFAULTS[key] === undefined);
    if (missing !== undefined) {
      return [{ steps: [...steps, missing], message: 'must be set: items of this list are merged by it' }];
    }
    const id = identity(item, keys);
    if (seen.has(id))
      return [{ steps, message: `has the same ${keys.join(' and ')} as an item before it: remove one` }];
    seen.add(id);
    return [];
  });
}

function mapFaults(value: unknown, name: string, steps: Steps): TemplateFault[] {
  if (!isObject(value)) return [{ steps, message: 'must be an object' }];
  return Object.entries(value).flatMap(([key, content]): TemplateFault[] => {
    const here = [...steps, key];
    if (key.startsWith('$')) return directiveFaults(key, content, new Map(), here);
    if (content === null) return [];
    const fault = scalarFault(content, name === 'map' ? 'text' : 'quantity');
    return fault === undefined ? [] : [{ steps: here, message: fault }];
  });
}

function scalarFault(value: unknown, type: string): string | undefined {
  switch (type) {
    case 'string':
    case 'text':
      if (typeof value === 'string') return undefined;
      return isObject(value) || Array.isArray(value) ? 'must be a string' : 'must be a string: put it in quotes';
    case 'boolean':
    case 'flag':
      return typeof value === 'boolean' ? undefined : 'must be true or false, without quotes';
    case 'integer':
    case 'count':
      return Number.isSafeInteger(value) ? undefined : 'must be a whole number, without quotes';
    case 'port':
      return Number.isSafeInteger(value) || typeof value === 'string'
        ? undefined
        : 'must be a number or the name of a port';
    case 'quantity':
      return quantityText(value) === undefined ? 'must be a quantity such as 500m or 256Mi' : undefined;
    default:
      throw new Error(`no type "${type}"`);
  }
}

/** Returns the canonical quantity. The API server accepts numbers too. */
export const quantityText = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? canonicalQuantity(String(value)) : undefined;

/**
 * Fields of a pod template whose values Kubernetes 1.36 lists (a test compares them with the API server). Fields whose values depend on other fields are left to the API server.
 */
const CHOICES = `
PodSpec.dnsPolicy = ClusterFirst, ClusterFirstWithHostNet, Default, None
PodSpec.restartPolicy = Always
PodOS.name = linux, windows
Container.imagePullPolicy = Always, IfNotPresent, Never
Container.terminationMessagePolicy = FallbackToLogsOnError, File
ContainerPort.protocol = SCTP, TCP, UDP
HTTPGetAction.scheme = HTTP, HTTPS
SeccompProfile.type = Localhost, RuntimeDefault, Unconfined
AppArmorProfile.type = Localhost, RuntimeDefault, Unconfined
Toleration.operator = Equal, Exists
Toleration.effect = NoExecute, NoSchedule, PreferNoSchedule
NodeSelectorRequirement.operator = DoesNotExist, Exists, Gt, In, Lt, NotIn
LabelSelectorRequirement.operator = DoesNotExist, Exists, In, NotIn
TopologySpreadConstraint.whenUnsatisfiable = DoNotSchedule, ScheduleAnyway
TopologySpreadConstraint.nodeAffinityPolicy = Honor, Ignore
TopologySpreadConstraint.nodeTaintsPolicy = Honor, Ignore
PodSecurityContext.fsGroupChangePolicy = Always, OnRootMismatch
PodSecurityContext.supplementalGroupsPolicy = Merge, Strict
HostPathVolumeSource.type = BlockDevice, CharDevice, Directory, DirectoryOrCreate, File, FileOrCreate, Socket
`;

/** Allowed values by type and field, such as `Container.imagePullPolicy`. */
export const POD_TEMPLATE_CHOICES: ReadonlyMap<string, readonly string[]> = new Map(
  CHOICES.trim()
    .split('\n')
    .map((line) => {
      const [field = '', values = ''] = line.split(' = ');
      return [field, values.split(', ')];
    }),
);

const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const QUANTITY = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d+)?$/u;
const NANO = 1_000_000_000n;
/** The API server rounds longer quantities. */
const MAX_DIGITS = 40;

/**
 * Returns a quantity as the API server does: `0.5` is `500m`, `1024Mi` is `1Gi`. Undefined for text that is not a
 * quantity. Parts below a billionth are rounded up.
 */
export function canonicalQuantity(text: string): string | undefined {
  const read = readQuantity(text);
  if (!read) return undefined;
  const { isNegative, nanos, suffix, exponent } = read;
  if (nanos === 0n) return '0';
  const minus = isNegative ? '-' : '';
  if (exponent !== undefined) return minus + decimalExponent(nanos);
  // Binary suffixes are for whole numbers only.
  const isBinary = suffix.endsWith('i') && nanos >= 1024n * NANO && nanos % NANO === 0n;
  return minus + (isBinary ? binary(nanos / NANO) : decimal(nanos));
}

/** Returns true when one quantity is larger than another; false unless both are quantities. */
export function isLarger(text: string, than: string): boolean {
  const [a, b] = [readQuantity(text), readQuantity(than)];
  return a !== undefined && b !== undefined && signed(a) > signed(b);
}

const signed = ({ isNegative, nanos }: Quantity): bigint => (isNegative ? -nanos : nanos);

interface Quantity {
  readonly isNegative: boolean;
  readonly nanos: bigint;
  readonly suffix: string;
  readonly exponent: string | undefined;
}

function readQuantity(text: string): Quantity | undefined {
  const [, sign = '', digits = '', suffix = ''] = QUANTITY.exec(text) ?? [];
  if (digits === '' || text.length > MAX_DIGITS) return undefined;
  const exponent = /^[eE]([+-]?\d+)$/u.exec(suffix)?.[1];
  if (exponent !== undefined && Math.abs(Number(exponent)) > 18) return undefined;
  return { isNegative: sign === '-', nanos: inNanos(digits, suffix, exponent), suffix, exponent };
}

function inNanos(digits: string, suffix: string, exponent: string | undefined): bigint {
  const [whole = '', fraction = ''] = digits.split('.');
  const mantissa = BigInt(`${whole}${fraction}`);
  const scale = NANO * (exponent === undefined ? factorOf(suffix) : 1n);
  // A decimal suffix below one and a fraction divide.
  const power = (exponent === undefined ? decimalPower(suffix) : Number(exponent)) - fraction.length;
  return power >= 0 ? mantissa * scale * 10n ** BigInt(power) : divideUp(mantissa * scale, 10n ** BigInt(-power));
}

const factorOf = (suffix: string): bigint => (suffix.endsWith('i') ? 1024n ** BigInt(BINARY.indexOf(suffix)) : 1n);
const decimalPower = (suffix: string): number => (suffix.endsWith('i') ? 0 : (DECIMAL.indexOf(suffix) - 3) * 3);
const divideUp = (value: bigint, by: bigint): bigint => (value + by - 1n) / by;

/** Formats with the largest suffix that leaves a whole number. */
function decimal(nanos: bigint): string {
  const [mantissa, thousands] = reduce(nanos, 1000n, DECIMAL.length - 1);
  return `${String(mantissa)}${DECIMAL[thousands] ?? ''}`;
}

function decimalExponent(nanos: bigint): string {
  const [mantissa, thousands] = reduce(nanos, 1000n, Number.POSITIVE_INFINITY);
  const power = (thousands - 3) * 3;
  return power === 0 ? String(mantissa) : `${String(mantissa)}e${String(power)}`;
}

function binary(whole: bigint): string {
  const [mantissa, kibi] = reduce(whole, 1024n, BINARY.length - 1);
  return `${String(mantissa)}${BINARY[kibi] ?? ''}`;
}

function reduce(value: bigint, by: bigint, most: number): readonly [bigint, number] {
  let [rest, times] = [value, 0];
  while (times < most && rest % by === 0n) [rest, times] = [rest / by, times + 1];
  return [rest, times];
}
