import { COMMAND_IN_CLUSTER } from '../../../crds/kinds/mcp-server-workload.ts';
import type { Platform, Report } from '../scope.ts';

export type ImageScheme = 'npx' | 'uvx' | 'command' | 'oci';

const NPM_NAME = String.raw`(@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*`;
const NPX = new RegExp(`^npx://${NPM_NAME}(@[A-Za-z0-9^~*<>=][A-Za-z0-9^~*.<>=+_-]*)?$`, 'u');
const UVX =
  /^uvx:\/\/[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9,._-]+\])?(==[A-Za-z0-9][A-Za-z0-9.!+_-]*)?$/u;
/** Name of a program on PATH, or an absolute path of a file. */
const COMMAND = /^command:\/\/(?:[A-Za-z0-9_][A-Za-z0-9_.+-]*|\/[^\p{Cc}]*[^\p{Cc}/])$/u;
/** `[registry[:port]/]path[:tag][@digest]` as in the OCI distribution specification. */
const OCI =
  /^([A-Za-z0-9][A-Za-z0-9.-]*(:\d{1,5})?\/)?[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*(:\w[\w.-]{0,127})?(@[a-z0-9]+:[a-f0-9]{32,})?$/u;

/** Returns the scheme of an image reference; undefined when the reference is invalid. */
export function imageScheme(image: string): ImageScheme | undefined {
  if (NPX.test(image)) return 'npx';
  if (UVX.test(image)) return 'uvx';
  if (COMMAND.test(image)) return 'command';
  return OCI.test(image) ? 'oci' : undefined;
}

/** Reports an image that cannot run on this platform. */
export function checkImage(image: string, path: string, platform: Platform, report: Report): void {
  const scheme = imageScheme(image);
  if (scheme === undefined) {
    report.problem('InvalidImageReference', path, `"${image}" ${imageAdvice(image)}`);
  } else if (scheme === 'command' && platform.mode === 'cluster') {
    report.problem('LocalImageInCluster', path, COMMAND_IN_CLUSTER);
  } else if (scheme !== 'oci' && platform.mode === 'cluster') {
    report.problem('LocalImageInCluster', path, `${scheme}:// runs in local mode only: use a container image`);
  } else if (scheme === 'oci' && platform.mode === 'local' && platform.containerEngine === false) {
    report.problem(
      'NoContainerEngine',
      path,
      `"${image}" is a container image, and neither docker nor podman responds: start one of them, or use an npx:// or uvx:// package`,
    );
  }
}

function imageAdvice(image: string): string {
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//u.exec(image)?.[1];
  if (scheme === 'npx') return 'is not an npm package: write npx://PACKAGE or npx://PACKAGE@VERSION';
  if (scheme === 'uvx') return 'is not a PyPI package: write uvx://PACKAGE or uvx://PACKAGE==VERSION';
  if (scheme === 'command')
    return 'names no program: write command://NAME for a program on PATH, or command:// with an absolute path, and its arguments in spec.args';
  if (scheme === 'http' || scheme === 'https') return 'is a URL: use kind MCPServerEntry with spec.remoteUrl';
  if (scheme !== undefined)
    return `has the unknown scheme ${scheme}://: use npx://, uvx://, command:// or a container image`;
  return 'is not an image reference: write NAME:TAG, npx://PACKAGE or uvx://PACKAGE';
}
