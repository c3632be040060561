/**
 * Steps of a release that need code.
 *   node .ci/release/main.ts manifest package|repository    writes package.json for the npm package, or for the repository
 *   node .ci/release/main.ts check TAG                      fails if a file has another version, or the notes are missing
 *   node .ci/release/main.ts notes TAG                      prints the release notes
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageManifest, repositoryManifest } from './manifest.ts';
import { releaseNotes } from './notes.ts';
import { versionProblems } from './versions.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const EXIT_USAGE = 2;

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

function fail(problems: readonly string[], code = 1): void {
  process.stderr.write(problems.map((problem) => `${problem}\n`).join(''));
  process.exitCode = code;
}

function writeManifest(change: (text: string) => string): void {
  const text = read('package.json');
  if (change(text) !== text) writeFileSync(join(ROOT, 'package.json'), change(text));
}

const notesOf = (tag: string): string | undefined => releaseNotes(read('CHANGELOG.md'), tag.slice(1));
const missingNotes = (tag: string): string =>
  `CHANGELOG.md has no section "## [${tag.slice(1)}]": rename the section "Unreleased"`;

function check(tag: string): void {
  const problems = versionProblems(tag, read);
  if (problems.length === 0 && notesOf(tag) === undefined) problems.push(missingNotes(tag));
  if (problems.length > 0) fail(problems);
}

function printNotes(tag: string): void {
  const notes = notesOf(tag);
  if (notes === undefined) fail([missingNotes(tag)]);
  else process.stdout.write(`${notes}\n`);
}

const [step, argument = ''] = process.argv.slice(2);
if (step === 'manifest' && argument === 'package') writeManifest(packageManifest);
else if (step === 'manifest' && argument === 'repository') writeManifest(repositoryManifest);
else if (step === 'check') check(argument);
else if (step === 'notes') printNotes(argument);
else fail(['usage: main.ts manifest package|repository, main.ts check TAG, or main.ts notes TAG'], EXIT_USAGE);
