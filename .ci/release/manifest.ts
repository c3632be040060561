/**
 * The members of package.json that differ in the npm package: as they stand in the repository, and in the package. The
 * bundle in dist/ contains the dependencies, so npm must not install them; `bundled` keeps their versions readable. In the
 * repository `private` stops `npm publish`, which would send the registry the manifest of the repository with the package.
 */
const MEMBERS = [
  ['"private": true,', '"private": false,'],
  ['"dependencies": {', '"bundled": {'],
] as const;

/** Turns the package.json of the repository into that of the npm package. Has no effect on that of the package. */
export const packageManifest = (text: string): string =>
  MEMBERS.reduce((changed, [repository, published]) => changed.replace(repository, published), text);

/** Reverses `packageManifest`. */
export const repositoryManifest = (text: string): string =>
  MEMBERS.reduce((changed, [repository, published]) => changed.replace(published, repository), text);
