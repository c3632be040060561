import { KINDS } from '../../../crds/kinds/index.ts';
import { validateObject, withDefaults } from '../../../crds/kinds/validate.ts';
import type { Resource } from '../../resolve/snapshot.ts';
import { closest } from './closest.ts';
import type { LocatedProblem } from './located.ts';
import type { ManifestObject } from './manifest-object.ts';
import { isPlainKind, PLAIN_KIND_NAMES, readKeyedData, type KeyedData } from './plain-kinds.ts';

const PLAIN_API = 'v1';

/** What an object turned out to be. */
export type Verdict =
  | { readonly is: 'resource'; readonly resource: Resource }
  | { readonly is: 'data'; readonly data: KeyedData }
  | { readonly is: 'refused'; readonly problems: readonly LocatedProblem[] };

/** Judges one object as the API server would: by kind, schema and rules. */
export function judge(object: ManifestObject): Verdict {
  const stranger = checkKind(object);
  if (stranger) return { is: 'refused', problems: [stranger] };
  if (isPlainKind(object.kind)) {
    const data = readKeyedData(object);
    return data.problems.length > 0 ? { is: 'refused', problems: data.problems } : { is: 'data', data };
  }
  const problems = validateObject(object.kind, object.value);
  if (problems.length > 0) {
    return {
      is: 'refused',
      problems: problems.map(({ reason, path, message }) => object.problem(reason, path, message)),
    };
  }
  return { is: 'resource', resource: withDefaults(object.kind, object.value) as Resource };
}

/** What the schema of a kind cannot say because there is no such kind, or it is one of Kubernetes' own. */
function checkKind(object: ManifestObject): LocatedProblem | undefined {
  const names = [...KINDS.map(({ kind }) => kind), ...PLAIN_KIND_NAMES];
  if (typeof object.value['kind'] !== 'string') {
    const message =
      'mcpServers' in object.value
        ? 'this is the configuration of a client: write each of its servers as an MCPServer, as README does under "Your own servers"'
        : `set kind to one of ${names.join(', ')}`;
    return object.problem('MissingField', 'kind', message);
  }
  if (!names.includes(object.kind)) {
    const near = closest(object.kind, names);
    const advice = near === undefined ? `there is ${names.join(', ')}` : `did you mean ${near}?`;
    return object.problem('UnknownKind', 'kind', `"${object.kind}" is no kind that is known here: ${advice}`);
  }
  if (!isPlainKind(object.kind) || object.apiVersion === PLAIN_API) return undefined;
  return object.apiVersion === undefined
    ? object.problem('MissingField', 'apiVersion', `set apiVersion: ${PLAIN_API}`)
    : object.problem('InvalidValue', 'apiVersion', `must be ${PLAIN_API}`);
}
