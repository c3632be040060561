import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../harness/vmcp.ts';

/** Files that contain reasons of problems. */
const SOURCES = [
  'operator/**/*.ts',
  'crds/kinds/**/*.ts',
  'gateway/*.ts',
  'gateway/{authserver,cluster,contract,incoming,outbound,outgoing,policy,vmcp,workloads}/**/*.ts',
];
/** CamelCase words that are not reasons: kinds, names of errors, algorithms and vendors, values of Kubernetes fields, ends of reasons. */
const OTHER_WORD = new RegExp(
  `^(${[
    'MCP\\w+|VirtualMCPServer|\\w+Error|BoundaryImpossible|DependencyDown|FetchFailure|TokenRefused|StoreUnavailable',
    'ClientKeysUnavailable|KeyRefused|PageRefused|EdDSA|ClusterIP|ClientIP|NodePort|LoadBalancer|ConfigMap|StatefulSet',
    'ServiceAccount|PersistentVolumeClaim|PodTemplateSpec|EnvVar|LifecycleHandler|ScheduleAnyway|RuntimeDefault|RollingUpdate|IfNotPresent',
    'AlwaysAllow|PodScheduled|RoleBinding|HostVariable|BadRequest|AlreadyExists|RefusedDestination|OpenAI',
    'ListenerSet|PathPrefix|ResolvedRefs',
  ].join('|')})$`,
  'u',
);

/** Finds the reasons in the code, with their files. A reason is a quoted CamelCase word of at least two parts that is not the title of a schema. */
function reasonsInCode(): Map<string, string> {
  const found = new Map<string, string>();
  for (const file of globSync(SOURCES, { cwd: root }).filter((name) => !/\.test\.ts$|\/testdata\//u.test(name))) {
    const text = readFileSync(join(root, file), 'utf8');
    for (const [, word = ''] of text.matchAll(/(?<!\btitle: )'([A-Z]+[a-z]+[A-Z][A-Za-z]*)'/gu)) {
      if (!OTHER_WORD.test(word)) found.set(word, file);
    }
  }
  return found;
}

/** Returns the anchor of a heading as GitHub makes it: in lower case, with `-` for blanks and without punctuation. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');

/** Returns the anchors of the headings of a page. */
function anchorsOf(document: string): Set<string> {
  const text = readFileSync(document, 'utf8').replaceAll(/^```.*?^```/gmsu, '');
  const headings = [...text.matchAll(/^#+ (.+)$/gmu)].map(([, heading = '']) => heading);
  return new Set(headings.map(anchorOf));
}

const documents = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md'], { cwd: root });

describe('documents', () => {
  const text = readFileSync(join(root, 'docs/troubleshooting.md'), 'utf8');
  const firstCells = [...text.matchAll(/^\| (`[^|]*)\|/gmu)].map(([, cell = '']) => cell);
  const explained = firstCells.flatMap((cell) =>
    [...cell.matchAll(/`([A-Z][A-Za-z]+)`/gu)].map(([, reason = '']) => reason),
  );
  const given = reasonsInCode();

  it('explain every reason in the code', () => {
    const missing = [...given].filter(([reason]) => !explained.includes(reason));
    expect(missing.map(([reason, file]) => `add ${reason} (${file}) to docs/troubleshooting.md`)).toEqual([]);
  });

  it('explain each reason once, and no unknown reason', () => {
    expect(explained.filter((reason) => !given.has(reason))).toEqual([]);
    expect(explained.filter((reason, index) => explained.indexOf(reason) !== index)).toEqual([]);
  });

  it('have every reason in the index, with its section', () => {
    const [sections = '', index = ''] = text.split('## Index of reasons');
    const entries = sections
      .split(/^##+ /gmu)
      .flatMap((section) =>
        [...section.matchAll(/^\| (`[^|]*)\|/gmu)].flatMap(([, cell = '']) =>
          [...cell.matchAll(/`([A-Z][A-Za-z\d]+)`/gu)].map(
            ([shown]) => `[${shown}](#${anchorOf(/^.*/u.exec(section)?.[0] ?? '')})`,
          ),
        ),
      );
    expect(entries.filter((entry) => !index.includes(entry))).toEqual([]);
    expect([...index.matchAll(/\]\(#/gu)]).toHaveLength(entries.length);
  });

  it.each(documents)('%s links to files that exist', (document) => {
    const text = readFileSync(join(root, document), 'utf8');
    const links = [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/gu)].map(([, link = '']) => link);
    expect(links.filter((link) => !existsSync(join(root, dirname(document), link)))).toEqual([]);
  });

  it.each(documents)('%s links to sections that exist', (document) => {
    const text = readFileSync(join(root, document), 'utf8');
    const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/gu)];
    const lost = links.filter(([, path = '', anchor = '']) => {
      const page = join(root, path === '' ? document : join(dirname(document), path));
      return page.endsWith('.md') && !anchorsOf(page).has(anchor);
    });
    expect(lost.map(([link]) => link)).toEqual([]);
  });

  it.each(documents)('%s shows pictures that exist', (document) => {
    const text = readFileSync(join(root, document), 'utf8');
    const pictures = [...text.matchAll(/<(?:img|source)\b[^>]*?\b(?:src|srcset)="(?!https?:)([^"]+)"/gu)];
    expect(
      pictures.map(([, path = '']) => path).filter((path) => !existsSync(join(root, dirname(document), path))),
    ).toEqual([]);
  });

  it.each(documents)('%s names files and folders of this project that exist', (document) => {
    const text = readFileSync(join(root, document), 'utf8');
    const paths = [...text.matchAll(/`((?:crds|docs|e2e|examples|gateway|operator)\/[\w./-]*[\w/])`/gu)].map(
      ([, path = '']) => path,
    );
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});
