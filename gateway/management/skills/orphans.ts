/** Facts of an installed skill that decide whether it is an orphan. */
interface Dependent {
  readonly metadata: { readonly name: string };
  readonly dependencies: readonly { readonly name: string }[];
  readonly explicit: boolean;
}

/** Returns the names of the skills that need this one, sorted. All skills are of one scope and project. */
export const requiredBy = (name: string, skills: readonly Dependent[]): string[] =>
  skills
    .filter((skill) => skill.dependencies.some((dependency) => dependency.name === name))
    .map((skill) => skill.metadata.name)
    .toSorted();

/** Returns the orphans: skills that were installed only as dependencies, and that no other skill needs any longer. */
export function orphans<Skill extends Dependent>(skills: readonly Skill[]): Skill[] {
  const lost = skills.filter(({ explicit, metadata }) => !explicit && requiredBy(metadata.name, skills).length === 0);
  if (lost.length === 0) return [];
  return [...lost, ...orphans(skills.filter((skill) => !lost.includes(skill)))];
}
