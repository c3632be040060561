import type { ObjectProblem } from '../../resolve/problems.ts';
import { ONLINE_CHECKS } from './checks/index.ts';
import { trusting, type Get, type Reply } from '../probes/http-get.ts';
import type { Finding, NamedSubject, Online } from './online-check.ts';

const MOST_AT_ONCE = 8;

/** Checks each subject once, at most 8 at the same time, and returns a problem or a warning for each field that names it. */
export async function examineOnline(
  named: readonly NamedSubject[],
  online: Online,
): Promise<Readonly<Record<'problems' | 'warnings', ObjectProblem[]>>> {
  const { get, env } = { ...online, get: onceEach(online.get) };
  const groups = [...Map.groupBy(named, ({ subject }) => JSON.stringify(subject)).values()];
  const found: { readonly finding: Finding; readonly object: ObjectProblem }[] = [];
  const waiting = groups.values();
  const work = async (): Promise<void> => {
    for (const group of waiting) {
      const [first] = group;
      const finding =
        first &&
        (await ONLINE_CHECKS[first.subject.type](first.subject, { env, get: trusting(get, first.subject.ca) }));
      if (!finding) continue;
      const { reason, message } = finding;
      for (const { object, path } of group) found.push({ finding, object: { ...object, path, reason, message } });
    }
  };
  await Promise.all(Array.from({ length: MOST_AT_ONCE }, work));
  const of = (severity: Finding['severity']): ObjectProblem[] =>
    found.filter(({ finding }) => finding.severity === severity).map(({ object }) => object);
  return { problems: of('problem'), warnings: of('warning') };
}

/** Sends each request once: several checks read the same metadata. */
function onceEach(get: Get): Get {
  const sent = new Map<string, Promise<Reply>>();
  return (url, options = {}) => {
    const key = JSON.stringify([url, options]);
    const reply = sent.get(key) ?? get(url, options);
    sent.set(key, reply);
    return reply;
  };
}
