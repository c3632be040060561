import type { ObjectProblem } from '../../resolve/problems.ts';
import { ONLINE_CHECKS } from './checks/index.ts';
import type { Finding, Online } from './online-check.ts';
import type { NamedSubject } from './subjects.ts';

const MOST_AT_ONCE = 8;

/** Checks each subject once, at most 8 at the same time, and returns a problem or a warning for each field that names it. */
export async function examineOnline(
  named: readonly NamedSubject[],
  online: Online,
): Promise<Readonly<Record<'problems' | 'warnings', ObjectProblem[]>>> {
  const groups = [...Map.groupBy(named, ({ subject }) => JSON.stringify(subject)).values()];
  const found: { readonly finding: Finding; readonly object: ObjectProblem }[] = [];
  const waiting = groups.values();
  const work = async (): Promise<void> => {
    for (const group of waiting) {
      const [first] = group;
      const finding = first && (await ONLINE_CHECKS[first.subject.type](first.subject, online));
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
