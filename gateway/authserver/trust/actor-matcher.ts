/** Returns the expression for the whole name of an actor. Throws a SyntaxError. */
export const matcherOf = (pattern: string): RegExp => new RegExp(`^(?:${pattern})$`, 'u');
