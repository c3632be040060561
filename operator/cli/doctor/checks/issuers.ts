import { examineOnline } from '../../online/examine-online.ts';
import { fail, ok, warn, type Check } from '../check.ts';

const NAMED: ReadonlySet<string> = new Set(['issuer', 'endpoint']);

export const issuers: Check = {
  name: 'issuers',
  run: async ({ providers, placeOf, get, env }) => {
    if (providers.length === 0) return ok('not checked: no file that names another issuer was given');
    const { problems, warnings } = await examineOnline(providers, { get, env });
    // endpoints for POST answer HEAD with 404 too
    const found = problems.length > 0 ? problems : warnings.filter(({ reason }) => reason !== 'NotChecked');
    const list = found.map((problem) => `${placeOf(problem)}: ${problem.message}`).join('; ');
    if (problems.length > 0) return fail(list);
    if (found.length > 0) return warn(list);
    const checked = providers.filter(({ subject }) => NAMED.has(subject.type)).map(({ subject }) => subject.value);
    return ok(`metadata and keys of ${[...new Set(checked)].join(', ')}`);
  },
};
