import { parse } from 'yaml';

/** Files that name the version of a release, with the place of it in each. */
const VERSIONS: Readonly<Record<string, (text: string) => readonly unknown[]>> = {
  'package.json': (text) => [(JSON.parse(text) as { version: string }).version],
  'charts/vmcp-crds/Chart.yaml': chartVersions,
  'charts/vmcp/Chart.yaml': chartVersions,
  'charts/vmcp/values.yaml': (text) => {
    const { operator } = parse(text) as { operator: { image: string; gatewayImage: string } };
    return [operator.image, operator.gatewayImage].map((image) => image.split(':').at(-1));
  },
};

function chartVersions(text: string): unknown[] {
  const { version, appVersion } = parse(text) as { version: string; appVersion: string };
  return [version, appVersion];
}

/** Lists the files that name another version than the tag (`v1.2.3`). `read` returns the text of a file. */
export function versionProblems(tag: string, read: (file: string) => string): string[] {
  if (!/^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/u.test(tag)) return [`${tag} is not a version: name the tag like v1.2.3`];
  return Object.entries(VERSIONS).flatMap(([file, versionsOf]) =>
    [...new Set(versionsOf(read(file)))]
      .filter((version) => version !== tag.slice(1))
      .map((version) => `${file} has the version ${String(version)}, and the tag is ${tag}: change one of them`),
  );
}
