import type { OnlineCheck, Subject } from '../online-check.ts';
import { endpoint } from './endpoint.ts';
import { image } from './image.ts';
import { issuer } from './issuer.ts';
import { npmPackage } from './npm-package.ts';
import { pythonPackage } from './python-package.ts';
import { registration } from './registration.ts';
import { remoteUrl } from './remote-url.ts';
import { scope } from './scope.ts';

/** Checks by the type of their subjects. */
export const ONLINE_CHECKS: Readonly<Record<Subject['type'], OnlineCheck>> = {
  npm: npmPackage,
  python: pythonPackage,
  image,
  url: remoteUrl,
  issuer,
  endpoint,
  registration,
  scope,
};
